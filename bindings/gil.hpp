// Letting go of Python's global lock while the core works.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace adatron::bindings {

// Takes the GIL back. When the interpreter is ending, Python ends threads that ask for it by pthread_exit, whose
// unwinding must not reach the frames above, which let nothing through (std::terminate would end the process). Such
// a thread never leaves the handler: it sleeps until the process ends, as Python 3.14 lets it do itself.
[[gnu::noinline]] inline void take_gil_back(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) pause();
    }
}

class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { take_gil_back(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* state_;
};

// Functions that run without the GIL take their arrays by reference: to let go of a copy would take the GIL again.
using Released = nanobind::call_guard<WithoutGil>;

}  // namespace adatron::bindings
