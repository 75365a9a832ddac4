// SPDX-License-Identifier: Apache-2.0
#include "own_thread.h"

#include <cfenv>
#include <optional>
#include <utility>

#include <fpu_control.h>
#include <xmmintrin.h>

#include "border/border.h"
#include "opencl/opencl_event.h"
#include "opencl/runtime.h"

namespace ze_cpu {
namespace {

/// Gives kernels that run on this thread the rounding and the denormals that they have on the runtime's
/// threads. Nearly every thread has these already, and a look takes 0.1 us less than fesetenv() does.
class DefaultFloats {
public:
    DefaultFloats() {
        fpu_control_t x87;
        _FPU_GETCW(x87);
        if (x87 == _FPU_DEFAULT && (sse_ & ~unsigned(_MM_EXCEPT_MASK)) == _MM_MASK_MASK)
            return;
        std::fegetenv(&before_.emplace());
        std::fesetenv(FE_DFL_ENV);
    }
    ~DefaultFloats() {
        if (before_)
            std::fesetenv(&*before_);
        else if (_mm_getcsr() != sse_) // it has the exceptions that the kernel met
            _mm_setcsr(sse_);
    }
    DefaultFloats(const DefaultFloats &) = delete;
    DefaultFloats &operator=(const DefaultFloats &) = delete;

private:
    const unsigned sse_ = _mm_getcsr();
    std::optional<std::fenv_t> before_; // empty if these were the defaults
};

} // namespace

cl::Queue make_queue(cl::Ulong properties, cl::Int &status) {
    const cl::Ulong list[] = {cl::queue_properties, properties, 0};
    return opencl().clCreateCommandQueueWithProperties(runtime().context, runtime().device, list, &status);
}

OwnThread::~OwnThread() {
    for (const Place &place : places_)
        if (place.queue)
            opencl().clReleaseCommandQueue(place.queue);
}

cl::Queue OwnThread::queue_for(const Command &command) {
    const bool is_timed = command.signal != nullptr;
    Place &place = places_[is_timed];
    if (!place.queue && !place.is_refused) {
        cl::Int status = cl::success;
        place.queue = make_queue(cl::queue_own_thread | (is_timed ? cl::queue_profiling_enable : 0), status);
        place.is_refused = !place.queue;
    }
    return place.queue;
}

bool OwnThread::run(Command &command) {
    const cl::Queue queue = queue_for(command);
    if (!queue)
        return false;
    Signal::NewProducer producer;
    if (command.signal)
        producer.emplace_back();
    // The call returns when the command has run (cl_intel_exec_by_local_thread). So nothing has to be waited
    // for, and only a signal needs an event.
    cl::Event event = nullptr;
    const DefaultFloats floats;
    const cl::Int status = command.enqueue(queue, 0, nullptr, command.signal ? &event : nullptr);
    if (status != cl::success)
        throw from_opencl(status);
    if (!command.signal)
        return true;
    producer.front() = {OpenClEvent(event), queue};
    command.signal->add_producer(std::move(producer));
    if (command.signal->is_shared())
        command.signal->status(); // tells other processes
    return true;
}

} // namespace ze_cpu
