// SPDX-License-Identifier: Apache-2.0
// Objects outlive the objects that they are made from: any order of destruction, and buffers of the
// library under work that has not run yet. Linked with libzemm's objects. meson sets
// MALLOC_PERTURB_, so that freed memory does not keep its contents.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "gate.h"
#include "primitive/objects.hpp"
#include "ze/buffer.hpp"
#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

namespace {

// ---- a matmul: dst = src * weights, 2x3 * 3x2

constexpr float src_values[6] = {1, 2, 3, 4, 5, 6}, wei_values[6] = {1, 0, 0, 1, 1, 1},
                expected[4] = {4, 5, 10, 11};

// Objects in the order in which `end` counts them.
struct objects {
    own<zemm_engine_t> engine;
    own<zemm_stream_t> stream;
    own<zemm_primitive_desc_t> pd;
    own<zemm_primitive_t> primitive;
    own<zemm_memory_t> memories[3]; // src, weights, dst: the library's
    zemm_exec_arg_t args[3];        // the memories

    explicit objects(own<zemm_engine_t> of = made(zemm_engine_create, zemm_cpu, 0)) : engine(std::move(of)) {
        stream = new_stream(engine);
        const auto src = dense({2, 3}, zemm_f32), wei = dense({3, 2}, zemm_f32),
                   dst = dense({2, 2}, zemm_f32);
        pd = matmul(src, wei, dst, nullptr, nullptr, engine);
        primitive = made(zemm_primitive_create, pd);
        const std::pair<int, const tensor *> tensors[] = {
            {ZEMM_ARG_SRC, &src}, {ZEMM_ARG_WEIGHTS, &wei}, {ZEMM_ARG_DST, &dst}};
        for (int i = 0; i < 3; i++) {
            memories[i] = made(zemm_memory_create, *tensors[i].second, engine, ZEMM_MEMORY_ALLOCATE);
            args[i] = {tensors[i].first, memories[i]};
        }
        fill(memories[0], src_values);
        fill(memories[1], wei_values);
    }
    void end(int which) {
        switch (which) {
        case 0:
            return engine.end();
        case 1:
            return stream.end();
        case 2:
            return pd.end();
        case 3:
            return primitive.end();
        default:
            return memories[which - 4].end();
        }
    }
    void execute() const { OK(zemm_primitive_execute(primitive, stream, 3, args)); }

private:
    static void fill(zemm_memory_t memory, const float (&values)[6]) {
        void *const mapped = got(zemm_memory_map_data, memory);
        std::memcpy(mapped, values, sizeof values);
        OK(zemm_memory_unmap_data(memory, mapped));
    }
};

void check_result(zemm_memory_t dst) {
    void *const mapped = got(zemm_memory_map_data, dst);
    CHECK(!std::memcmp(mapped, expected, sizeof expected));
    OK(zemm_memory_unmap_data(dst, mapped));
}

} // namespace

TEST(orders) {
    int order[] = {0, 1, 2, 3, 4, 5, 6};
    do {
        objects o;
        o.execute();
        for (const int which : order)
            o.end(which);
    } while (std::next_permutation(std::begin(order), std::end(order)));
}

// Objects of an engine work after the engine's handle is destroyed.
static void use_without_engine(objects o) {
    const zemm_engine_t engine = o.engine;
    o.engine.end();
    CHECK(got(zemm_stream_get_engine, o.stream) == engine);
    CHECK(got(zemm_memory_get_engine, o.memories[2]) == engine);
    CHECK(queried<zemm_engine_t>(o.pd, zemm_query_engine) == engine);
    o.primitive = made(zemm_primitive_create, o.pd);
    o.execute();
    OK(zemm_stream_wait(o.stream));
    check_result(o.memories[2]);
    float other[4] = {};
    OK(zemm_memory_set_data_handle(o.memories[2], other));
    o.execute();
    OK(zemm_stream_wait(o.stream));
    CHECK(!std::memcmp(other, expected, sizeof expected));
}

TEST(engine_first) {
    use_without_engine(objects());
}

// A new engine differs from a destroyed one, even if it has the same address.
TEST(identity) {
    for (int round = 0; round < 50; round++) {
        objects old;
        const zemm_engine_t gone = old.engine;
        old.engine.end();
        const objects o;
        CHECK(o.engine != gone);
        const zemm_exec_arg_t mixed[] = {o.args[0], old.args[1], o.args[2]};
        INVALID("another engine", zemm_primitive_execute(o.primitive, o.stream, 3, mixed));
        INVALID("another engine", zemm_primitive_execute(o.primitive, old.stream, 3, o.args));
    }
}

static bool is_there(const zemm::ze::device &dev, const void *pointer) {
    return zemm::ze::usm_bytes_from(dev, pointer) != 0;
}

// The memories are destroyed, or get other buffers, before the work that uses them begins.
TEST(buffers_in_flight) {
    for (const bool keeps_memories : {false, true}) {
        objects o;
        const std::shared_ptr<zemm::ze::device> dev = zemm_engine_t(o.engine)->device;
        const gate waits(*dev);
        void *pointers[3];
        for (int i = 0; i < 3; i++)
            pointers[i] = got(zemm_memory_get_data_handle, o.memories[i]);
        OK(zemm_ze_interop_primitive_execute(o.primitive, o.stream, 3, o.args, 1, waits.event(), nullptr));
        for (own<zemm_memory_t> &memory : o.memories)
            if (keeps_memories)
                OK(zemm_memory_set_data_handle(memory, nullptr));
            else
                memory.end();
        for (const void *pointer : pointers)
            CHECK(is_there(*dev, pointer));
        waits.open();
        OK(zemm_stream_wait(o.stream));
        for (const void *pointer : pointers)
            CHECK(!is_there(*dev, pointer));
    }
}

// The stream is destroyed first, and releases the last reference to the buffers.
TEST(stream_keeps_result) {
    objects o;
    const std::shared_ptr<zemm::ze::device> dev = zemm_engine_t(o.engine)->device;
    const void *pointer = got(zemm_memory_get_data_handle, o.memories[2]);
    o.execute();
    o.memories[2].end();
    CHECK(is_there(*dev, pointer));
    o.stream.end();
    CHECK(!is_there(*dev, pointer));
}

// When the last object is destroyed, an interop engine leaves nothing in its context. The caller destroys the
// context right after everything that was created in it.
TEST(adopted) {
    auto usual = made(zemm_engine_create, zemm_cpu, 0);
    const zemm::ze::device &of_usual = *zemm_engine_t(usual)->device;
    ze_context_handle_t context = nullptr;
    ze_context_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    CHECK(of_usual.fn.zeContextCreate(of_usual.driver, &desc, &context) == ZE_RESULT_SUCCESS);
    auto engine = made(zemm_ze_interop_engine_create, of_usual.driver, of_usual.handle, context);
    usual.end();
    const std::weak_ptr<zemm::ze::device> dev = zemm_engine_t(engine)->device;
    const zemm::ze::api &fn = zemm_engine_t(engine)->device->fn;
    use_without_engine(objects(std::move(engine)));
    CHECK(dev.expired());
    CHECK(fn.zeContextDestroy(context) == ZE_RESULT_SUCCESS);
}
