// SPDX-License-Identifier: Apache-2.0
#include "ggml/team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <exception>
#include <immintrin.h>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

#include "ggml/functions.hpp"

namespace zemm_ggml {

namespace {

// Compilers make a call of this function from "omp parallel"; both GCC's and LLVM's runtimes have it.
using parallel_function = void (*)(void (*body)(void *), void *data, unsigned threads, unsigned flags);

parallel_function find_parallel() {
    ggml::device *const cpu = api.backend_dev_by_type(ggml::device_cpu);
    void *const library = cpu ? open_library_of(reinterpret_cast<void *>(cpu->iface.get_name)) : nullptr;
    return library ? reinterpret_cast<parallel_function>(dlsym(library, "GOMP_parallel")) : nullptr;
}

// The items of a call of each(), which threads take in runs.
class items {
public:
    items(int64_t count, int threads, const std::function<void(int64_t)> &work)
        : count_(count), run_(std::max<int64_t>(1, count / (8 * threads))), work_(work) {}

    void take() {
        for (int64_t first; (first = next_.fetch_add(run_)) < count_;)
            for (int64_t i = first; i < std::min(first + run_, count_); ++i)
                work_(i);
    }

private:
    const int64_t count_, run_;
    const std::function<void(int64_t)> &work_;
    std::atomic<int64_t> next_{0};
};

class own_threads : public team {
public:
    explicit own_threads(int threads) : threads_(threads) {}

    void each(int64_t count, const std::function<void(int64_t)> &work) const override {
        items all(count, threads_, work);
        std::vector<std::jthread> others;
        try {
            for (int i = 1; i < threads_; ++i)
                others.emplace_back([&] { all.take(); });
        } catch (const std::exception &) { // fewer do it
        }
        all.take();
    }
    int threads() const override { return threads_; }
    bool waits() const override { return false; }

private:
    const int threads_;
};

// A parallel region whose first thread works; the others wait for calls of each(), however late they come.
class region : public team {
public:
    region(int threads, const std::function<void(const team &)> &work) : threads_(threads), work_(work) {}

    void each(int64_t count, const std::function<void(int64_t)> &work) const override {
        items all(count, threads_, work);
        std::unique_lock hold(lock_);
        call_ = &all;
        ++number_;
        tell_all();
        hold.unlock();
        all.take();
        hold.lock();
        call_ = nullptr;
        wait(hold, [&] { return taking_ == 0; });
    }
    int threads() const override { return threads_; }
    bool waits() const override { return true; }

    static void body(void *data) {
        region &r = *static_cast<region *>(data);
        if (std::this_thread::get_id() == r.master_)
            r.lead();
        else
            r.follow();
    }

    void rethrow() const {
        if (error_)
            std::rethrow_exception(error_);
    }

private:
    // The lock is held when these are called. std::condition_variable would need a newer libstdc++.
    void tell_all() const {
        ++changes_;
        changes_.notify_all();
    }

    template <typename F> void wait(std::unique_lock<std::mutex> &hold, const F &is_met) const {
        while (!is_met()) {
            const int seen = changes_;
            hold.unlock();
            look_for_change(seen);
            changes_.wait(seen);
            hold.lock();
        }
    }

    // Waits in a loop for a while, because a thread that sleeps takes long to wake.
    void look_for_change(int seen) const {
        using clock = std::chrono::steady_clock;
        constexpr auto patience = std::chrono::microseconds(200);
        constexpr int looks = 64;
        for (const auto end = clock::now() + patience; clock::now() < end;)
            for (int i = 0; i < looks; ++i) {
                if (changes_ != seen)
                    return;
                _mm_pause();
            }
    }

    void lead() {
        try {
            work_(*this);
        } catch (...) {
            error_ = std::current_exception();
        }
        const std::lock_guard hold(lock_);
        is_over_ = true;
        tell_all();
    }

    void follow() {
        std::unique_lock hold(lock_);
        for (int64_t seen = 0;;) {
            wait(hold, [&] { return is_over_ || (call_ && number_ != seen); });
            if (is_over_)
                return;
            seen = number_;
            items *const all = call_;
            ++taking_;
            hold.unlock();
            all->take();
            hold.lock();
            --taking_;
            tell_all();
        }
    }

    const int threads_;
    const std::function<void(const team &)> &work_;
    const std::thread::id master_ = std::this_thread::get_id();
    std::exception_ptr error_{};
    mutable std::mutex lock_;
    mutable std::atomic<int> changes_{0};
    mutable items *call_ = nullptr;
    mutable int64_t number_ = 0; // of calls
    mutable int taking_ = 0;     // threads that take items of the call
    bool is_over_ = false;
};

const pid_t loading_process = getpid();

} // namespace

bool has_threads() {
    return getpid() == loading_process;
}

void with_team(int threads, const std::function<void(const team &)> &work) {
    static const parallel_function parallel = find_parallel();
    if (!parallel || threads < 2 || !has_threads()) {
        work(own_threads(std::max(1, threads)));
        return;
    }
    region r(threads, work);
    parallel(region::body, &r, unsigned(threads), 0);
    r.rethrow();
}

} // namespace zemm_ggml
