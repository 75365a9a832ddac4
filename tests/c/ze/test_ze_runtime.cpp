// SPDX-License-Identifier: Apache-2.0
// The Level Zero runtime layer alone, with real kernels.
//   test_ze_runtime cpu|gpu ze_runtime.spv ze_runtime_broken.spv
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "check.h"
#include "common/error.hpp"
#include "ze/buffer.hpp"
#include "ze/device.hpp"
#include "ze/module.hpp"
#include "ze/module_cache.hpp"
#include "ze/stream.hpp"

using namespace zemm::ze;

namespace {

template <typename F> zemm::error caught(F &&body) {
    try {
        body();
    } catch (const zemm::error &e) {
        return e;
    }
    return {zemm_success, ""};
}

constexpr uint32_t count = 1 << 16;
std::vector<uint8_t> program, broken;

spirv binary() {
    return {"ze_runtime", program, "1"};
}

std::vector<uint8_t> bytes_of(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    CHECK(!bytes.empty());
    return bytes;
}

std::vector<int> read(const std::shared_ptr<device> &dev, const buffer &from) {
    std::vector<int> values(from.size() / sizeof(int));
    copy_now(*dev, values.data(), from.data(), from.size());
    return values;
}

void write(const std::shared_ptr<device> &dev, const buffer &to, const std::vector<int> &values) {
    copy_now(*dev, to.data(), values.data(), to.size());
}

void scale_add(stream &s, kernel &k, void *out, void *in, int addend) {
    const kernel_argument arguments[] = {
        {sizeof(void *), &out}, {sizeof(void *), &in}, {sizeof addend, &addend}};
    s.launch(k, {64, 1, 1}, {count / 64, 1, 1}, arguments);
}

void test_memory(const std::shared_ptr<device> &dev) {
    const buffer device_memory(dev, 1000, usm::device), host_memory(dev, 1000, usm::host),
        empty(dev, 0, usm::host);
    CHECK(!empty.data() && empty.size() == 0);
    CHECK(reinterpret_cast<uintptr_t>(device_memory.data()) % 64 == 0);
    CHECK(usm_bytes_from(*dev, device_memory.data()) >= 1000);
    CHECK(usm_bytes_from(*dev, device_memory.data()) ==
          usm_bytes_from(*dev, static_cast<char *>(device_memory.data()) + 100) + 100);
    CHECK(host_reads(*dev, host_memory.data()));
    CHECK(host_reads(*dev, device_memory.data()) == (dev->kind == zemm_cpu));
    std::vector<char> ordinary(1000);
    CHECK(usm_bytes_from(*dev, ordinary.data()) == 0);
    for (int i = 0; i < 1000; i++)
        ordinary[i] = static_cast<char>(i);
    std::memset(host_memory.data(), 0, 1000);
    copy_now(*dev, device_memory.data(), ordinary.data(), 1000);
    copy_now(*dev, host_memory.data(), device_memory.data(), 1000);
    CHECK(!std::memcmp(host_memory.data(), ordinary.data(), 1000));
    const zemm::error e = caught([&] { buffer huge(dev, size_t(1) << 60, usm::device); });
    CHECK(e.status() == zemm_out_of_memory && std::strstr(e.what(), "1152921504606846976"));
}

void test_modules(const std::shared_ptr<device> &dev) {
    const auto first = get_kernel(dev, binary(), "scale_add", {{0, 5}}, "");
    CHECK(first->built_now && first->handle());
    const auto again = get_kernel(dev, binary(), "scale_add", {{0, 5}}, "");
    CHECK(again.get() == first.get() && !again->built_now);
    const auto other = get_kernel(dev, binary(), "scale_add", {{0, 6}}, "");
    CHECK(other.get() != first.get() && other->built_now);
    const auto sibling = get_kernel(dev, binary(), "slow_fill", {{0, 5}}, "");
    CHECK(sibling.get() != first.get() && !sibling->built_now);

    zemm::error e = caught([&] { get_kernel(dev, binary(), "no_such_entry", {}, ""); });
    CHECK(e.status() == zemm_runtime_error && std::strstr(e.what(), "no_such_entry"));
    const std::vector<uint8_t> garbage(64, 0x5a);
    e = caught([&] { get_kernel(dev, {"garbage", garbage, "2"}, "scale_add", {}, ""); });
    CHECK(e.status() == zemm_runtime_error && std::strstr(e.what(), "garbage"));
    e = caught([&] { get_kernel(dev, {"ze_runtime_broken", broken, "3"}, "broken", {}, ""); });
    CHECK(e.status() == zemm_runtime_error && std::strstr(e.what(), "ze_runtime_broken"));
    std::printf("  refused module: %s\n", e.what());

    // Several threads want the same kernel at once: one builds it, and all get it.
    std::vector<std::shared_ptr<kernel>> got(8);
    std::vector<std::thread> threads;
    for (auto &k : got)
        threads.emplace_back([&] { k = get_kernel(dev, binary(), "scale_add", {{0, 77}}, ""); });
    for (auto &t : threads)
        t.join();
    for (auto &k : got)
        CHECK(k.get() == got[0].get());
}

void test_eviction(const std::shared_ptr<device> &dev) {
    module_cache cache(2);
    auto get = [&](uint32_t factor) { return cache.get(*dev, binary(), "scale_add", {{0, factor}}, ""); };
    const auto first = get(1), second = get(2);
    CHECK(get(1) == first && !first->built_now); // now the second is the oldest
    get(3);
    CHECK(get(1) == first);
    CHECK(get(2) != second); // evicted and built again; the old kernel is still alive, because it is in use
    CHECK(second->handle());
}

// A device in the caller's context leaves nothing in the context.
void test_adopted(const std::shared_ptr<device> &dev) {
    ze_context_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    ze_context_handle_t context = nullptr;
    check(dev->fn.zeContextCreate(dev->driver, &desc, &context), "zeContextCreate");
    {
        std::shared_ptr<device> own = adopt_device(dev->driver, dev->handle, context);
        CHECK(own != dev && own->kind == dev->kind && own->context == context && &own->fn == &dev->fn);
        const std::weak_ptr<device> watch = own;
        {
            const buffer a(own, count * sizeof(int), usm::device);
            write(own, a, std::vector<int>(count, 2));
            auto k = get_kernel(own, binary(), "scale_add", {}, "");
            CHECK(k->built_now);
            stream owner(own, false), s(own, owner.list(), true); // s adopts the list of owner
            scale_add(s, *k, a.data(), a.data(), 1);
            scale_add(s, *k, a.data(), a.data(), 1);
            k.reset(); // the stream keeps the kernel that it runs
            s.wait();
            CHECK(read(own, a).back() == (2 * 3 + 1) * 3 + 1);
        }
        own.reset();
        CHECK(watch.expired());
    }
    check(dev->fn.zeContextDestroy(context), "zeContextDestroy");
}

void test_order(const std::shared_ptr<device> &dev) {
    const auto slow = get_kernel(dev, binary(), "slow_fill", {}, "");
    const auto times_three = get_kernel(dev, binary(), "scale_add", {}, "");
    const auto times_five = get_kernel(dev, binary(), "scale_add", {{0, 5}}, "");
    const buffer a(dev, count * sizeof(int), usm::device), b(dev, count * sizeof(int), usm::device);
    write(dev, a, std::vector<int>(count, 0));
    stream s(dev, false);
    for (int round = 0; round < 3; round++) {
        void *out = a.data();
        const int n = count, value = 100 + round;
        const kernel_argument arguments[] = {{sizeof out, &out}, {sizeof n, &n}, {sizeof value, &value}};
        s.launch(*slow, {1, 1, 1}, {1, 1, 1}, arguments);
        scale_add(s, *times_three, b.data(), a.data(),
                  1); // the same kernel with other arguments, right behind
        scale_add(s, *times_three, a.data(), b.data(), 2);
        scale_add(s, *times_five, b.data(), a.data(), round);
    }
    s.wait();
    s.wait(); // waiting for nothing is no error
    const std::vector<int> values = read(dev, b);
    for (int v : values)
        CHECK(v == ((102 * 3 + 1) * 3 + 2) * 5 + 2);
    s.launch(*slow, {1, 1, 1}, {0, 1, 1}, {}); // with no groups nothing is launched
    const kernel_argument nonsense[] = {{3, "ab"}};
    const zemm::error e = caught([&] { s.launch(*slow, {1, 1, 1}, {1, 1, 1}, nonsense); });
    std::printf("  argument of 3 bytes: %s\n", e.what());
}

void test_scratchpad(const std::shared_ptr<device> &dev) {
    stream s(dev, false);
    CHECK(!s.scratchpad(0));
    void *small = s.scratchpad(1 << 10);
    CHECK(small && s.scratchpad(1 << 9) == small);
    const auto k = get_kernel(dev, binary(), "scale_add", {}, "");
    void *middle = s.scratchpad(count * sizeof(int));
    scale_add(s, *k, middle, middle, 0);
    void *large = s.scratchpad(1 << 22);
    CHECK(large != middle && usm_bytes_from(*dev, middle)); // kept until the launch has run
    s.wait();
    CHECK(s.scratchpad(1) == large);
}

void test_profiling(const std::shared_ptr<device> &dev) {
    const auto slow = get_kernel(dev, binary(), "slow_fill", {}, "");
    const auto quick = get_kernel(dev, binary(), "scale_add", {}, "");
    const buffer a(dev, count * sizeof(int), usm::device);
    write(dev, a, std::vector<int>(count, 1));
    stream s(dev, true);
    for (int pass = 0; pass < 2; pass++) {
        CHECK(s.entry_count() == 0);
        if (pass)
            for (int i = 0; i < 300; i++) { // more events than one pool has
                s.begin_entry();
                scale_add(s, *quick, a.data(), a.data(), 0);
                s.end_entry();
            }
        s.begin_entry();
        void *out = a.data();
        const int n = count, value = 1;
        const kernel_argument arguments[] = {{sizeof out, &out}, {sizeof n, &n}, {sizeof value, &value}};
        s.launch(*slow, {1, 1, 1}, {1, 1, 1}, arguments);
        scale_add(s, *quick, a.data(), a.data(), 0);
        s.end_entry();
        s.begin_entry();
        s.end_entry();
        scale_add(s, *quick, a.data(), a.data(), 0); // outside of an entry, so not counted
        const size_t entries = pass ? 302 : 2;
        CHECK(s.entry_count() == entries);
        const std::vector<uint64_t> times = s.times();
        CHECK(times.size() == entries && times[entries - 1] == 0 && times[0] > 0);
        CHECK(times[entries - 2] > 100'000 && times[entries - 2] < 60'000'000'000);
        s.reset_profiling();
    }
}

void test_threads(const std::shared_ptr<device> &dev) {
    const auto k = get_kernel(dev, binary(), "scale_add", {}, "");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            const buffer a(dev, count * sizeof(int), usm::device);
            write(dev, a, std::vector<int>(count, t));
            stream s(dev, false);
            for (int i = 0; i < 20; i++)
                scale_add(s, *k, a.data(), a.data(), -2 * t); // leaves t unchanged
            s.wait();
            const std::vector<int> values = read(dev, a);
            for (int v : values)
                CHECK(v == t);
        });
    for (auto &t : threads)
        t.join();
}

void test_host_pointers(const std::shared_ptr<device> &dev) {
    if (!dev->host_pointers)
        return;
    const auto k = get_kernel(dev, binary(), "scale_add", {}, "");
    std::vector<int> in(count + 1, 4), out(count + 1, 0);
    stream s(dev, false);
    scale_add(s, *k, out.data() + 1, in.data() + 1, 1);
    s.wait();
    CHECK(out[0] == 0);
    for (uint32_t i = 1; i <= count; i++)
        CHECK(out[i] == 13);
}

using create_list = decltype(&zeCommandListCreateImmediate);
create_list real_create_list = nullptr;
ze_result_t first_answer = ZE_RESULT_SUCCESS; // the result of the first call; later calls reach the driver
int create_calls = 0;

ze_result_t answer_first(ze_context_handle_t context, ze_device_handle_t handle,
                         const ze_command_queue_desc_t *desc, ze_command_list_handle_t *list) {
    if (create_calls++ == 0 && first_answer != ZE_RESULT_SUCCESS)
        return first_answer;
    return real_create_list(context, handle, desc, list);
}

// Only a driver that does not know the in-order flag is asked a second time, without the flag.
void test_in_order_flag(const std::shared_ptr<device> &dev) {
    if (!dev->has_api(7))
        return;
    auto &function = const_cast<create_list &>(dev->fn.zeCommandListCreateImmediate);
    real_create_list = function;
    function = answer_first;
    const struct {
        ze_result_t answer;
        zemm_status_t status;
        int calls;
    } cases[] = {{ZE_RESULT_SUCCESS, zemm_success, 1},
                 {ZE_RESULT_ERROR_INVALID_ENUMERATION, zemm_success, 2},
                 {ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, zemm_out_of_memory, 1},
                 {ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, zemm_out_of_memory, 1},
                 {ZE_RESULT_ERROR_DEVICE_LOST, zemm_runtime_error, 1}};
    for (const auto &c : cases) {
        first_answer = c.answer;
        create_calls = 0;
        CHECK(caught([&] { stream made(dev, false); }).status() == c.status);
        CHECK(create_calls == c.calls);
    }
    function = real_create_list;
}

} // namespace

int main(int argc, char **argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc != 4)
        return 2;
    const zemm_engine_kind_t kind = std::strcmp(argv[1], "gpu") ? zemm_cpu : zemm_gpu;
    program = bytes_of(argv[2]);
    broken = bytes_of(argv[3]);

    std::string why;
    const size_t devices = device_count(kind, why);
    if (!devices) {
        std::printf("no %s: %s\n", argv[1], why.c_str());
        CHECK(caught([&] { open_device(kind, 0); }).status() == zemm_invalid_arguments);
        return 77; // skipped
    }
    const zemm::error e = caught([&] { open_device(kind, devices); });
    CHECK(e.status() == zemm_invalid_arguments);
    std::printf("%s\n", e.what());
    const std::shared_ptr<device> dev = open_device(kind, 0);
    CHECK(dev == open_device(kind, 0) && dev->kind == kind);
    const std::pair<const char *, void (*)(const std::shared_ptr<device> &)> tests[] = {
        {"memory", test_memory},
        {"modules", test_modules},
        {"eviction", test_eviction},
        {"adopted", test_adopted},
        {"order", test_order},
        {"scratchpad", test_scratchpad},
        {"profiling", test_profiling},
        {"threads", test_threads},
        {"host pointers", test_host_pointers},
        {"in-order flag", test_in_order_flag}};
    for (const auto &[name, test] : tests) {
        std::printf("%s\n", name);
        test(dev);
    }
    return 0;
}
