// SPDX-License-Identifier: Apache-2.0
// Objects outlive the objects that they are made from: any order of destruction, and buffers of the
// library under work that has not run yet. Linked with libzemm's objects. meson sets
// MALLOC_PERTURB_, so that freed memory does not keep its contents.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "gate.h"
#include "primitive/objects.hpp"
#include "refusals.h"
#include "ze/buffer.hpp"
#include "zemm/zemm_ze.h"

namespace {

// ---- a matmul: dst = src * weights, 2x3 * 3x2

struct objects {
    zemm_engine_t engine = nullptr;
    zemm_stream_t stream = nullptr;
    zemm_primitive_desc_t pd = nullptr;
    zemm_primitive_t primitive = nullptr;
    zemm_memory_t src = nullptr, wei = nullptr, dst = nullptr; // library-owned
    zemm_exec_arg_t args[3];                                   // the memories
};

constexpr float src_values[6] = {1, 2, 3, 4, 5, 6}, wei_values[6] = {1, 0, 0, 1, 1, 1},
                expected[4] = {4, 5, 10, 11};

zemm_memory_desc_t dense(zemm_dim_t rows, zemm_dim_t columns) {
    const zemm_dims_t dims = {rows, columns};
    zemm_memory_desc_t md = nullptr;
    OK(zemm_memory_desc_create_with_tag(&md, 2, dims, zemm_f32, zemm_ab));
    return md;
}

void fill(zemm_memory_t memory, const float *values, size_t count) {
    void *mapped = nullptr;
    OK(zemm_memory_map_data(memory, &mapped));
    std::memcpy(mapped, values, count * sizeof *values);
    OK(zemm_memory_unmap_data(memory, mapped));
}

zemm_engine_t cpu_engine() {
    zemm_engine_t engine = nullptr;
    OK(zemm_engine_create(&engine, zemm_cpu, 0));
    return engine;
}

objects make(zemm_engine_t engine) {
    objects o;
    o.engine = engine;
    OK(zemm_stream_create(&o.stream, o.engine, zemm_stream_default_flags));
    const zemm_memory_desc_t src = dense(2, 3), wei = dense(3, 2), dst = dense(2, 2);
    OK(zemm_matmul_primitive_desc_create(&o.pd, o.engine, src, wei, nullptr, dst, nullptr));
    OK(zemm_primitive_create(&o.primitive, o.pd));
    OK(zemm_memory_create(&o.src, src, o.engine, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_create(&o.wei, wei, o.engine, ZEMM_MEMORY_ALLOCATE));
    OK(zemm_memory_create(&o.dst, dst, o.engine, ZEMM_MEMORY_ALLOCATE));
    fill(o.src, src_values, 6);
    fill(o.wei, wei_values, 6);
    for (zemm_memory_desc_t md : {src, wei, dst})
        OK(zemm_memory_desc_destroy(md));
    o.args[0] = {ZEMM_ARG_SRC, o.src};
    o.args[1] = {ZEMM_ARG_WEIGHTS, o.wei};
    o.args[2] = {ZEMM_ARG_DST, o.dst};
    return o;
}

void check_result(zemm_memory_t dst) {
    void *mapped = nullptr;
    OK(zemm_memory_map_data(dst, &mapped));
    CHECK(!std::memcmp(mapped, expected, sizeof expected));
    OK(zemm_memory_unmap_data(dst, mapped));
}

zemm_status_t destroy_one(const objects &o, int which) {
    switch (which) {
    case 0:
        return zemm_engine_destroy(o.engine);
    case 1:
        return zemm_stream_destroy(o.stream);
    case 2:
        return zemm_primitive_desc_destroy(o.pd);
    case 3:
        return zemm_primitive_destroy(o.primitive);
    default:
        return zemm_memory_destroy(o.args[which - 4].memory);
    }
}

void destroy(const objects &o, std::initializer_list<int> order) {
    for (int which : order)
        OK(destroy_one(o, which));
}

// The engine of an interop caller. The caller destroys the context right after everything that was
// created in it.
zemm_engine_t adopted_engine(ze_context_handle_t &context) {
    const zemm_engine_t own = cpu_engine();
    const zemm::ze::device &dev = *own->device;
    ze_context_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    CHECK(dev.fn.zeContextCreate(dev.driver, &desc, &context) == ZE_RESULT_SUCCESS);
    zemm_engine_t engine = nullptr;
    OK(zemm_ze_interop_engine_create(&engine, dev.driver, dev.handle, context));
    OK(zemm_engine_destroy(own));
    return engine;
}

// ---- tests

void test_orders() {
    int order[] = {0, 1, 2, 3, 4, 5, 6};
    do {
        objects o = make(cpu_engine());
        OK(zemm_primitive_execute(o.primitive, o.stream, 3, o.args));
        for (int which : order)
            OK(destroy_one(o, which));
    } while (std::next_permutation(std::begin(order), std::end(order)));
}

// Objects of an engine work after the engine's handle is destroyed.
void test_engine_first(objects o) {
    const zemm_engine_t engine = o.engine;
    OK(zemm_engine_destroy(engine));
    zemm_engine_t of = nullptr;
    OK(zemm_stream_get_engine(o.stream, &of));
    CHECK(of == engine);
    OK(zemm_memory_get_engine(o.dst, &of));
    CHECK(of == engine);
    OK(zemm_primitive_desc_query(o.pd, zemm_query_engine, 0, &of));
    CHECK(of == engine);
    OK(zemm_primitive_destroy(o.primitive));
    OK(zemm_primitive_create(&o.primitive, o.pd));
    OK(zemm_primitive_execute(o.primitive, o.stream, 3, o.args));
    OK(zemm_stream_wait(o.stream));
    check_result(o.dst);
    float other[4] = {};
    OK(zemm_memory_set_data_handle(o.dst, other));
    OK(zemm_primitive_execute(o.primitive, o.stream, 3, o.args));
    OK(zemm_stream_wait(o.stream));
    CHECK(!std::memcmp(other, expected, sizeof expected));
    destroy(o, {6, 5, 4, 3, 2, 1});
}

// A new engine differs from a destroyed one, even if it has the same address.
void test_identity() {
    for (int round = 0; round < 50; round++) {
        objects old = make(cpu_engine());
        OK(zemm_engine_destroy(old.engine));
        objects o = make(cpu_engine());
        CHECK(o.engine != old.engine);
        const zemm_exec_arg_t mixed[] = {o.args[0], old.args[1], o.args[2]};
        INVALID("another engine", zemm_primitive_execute(o.primitive, o.stream, 3, mixed));
        INVALID("another engine", zemm_primitive_execute(o.primitive, old.stream, 3, o.args));
        destroy(o, {6, 5, 4, 3, 2, 1, 0});
        destroy(old, {6, 5, 4, 3, 2, 1});
    }
}

bool is_there(const zemm::ze::device &dev, const void *pointer) {
    return zemm::ze::usm_bytes_from(dev, pointer) != 0;
}

// The memories are destroyed, or get other buffers, before the work that uses them begins.
void test_buffers_in_flight(bool keeps_memories) {
    objects o = make(cpu_engine());
    const std::shared_ptr<zemm::ze::device> dev = o.engine->device;
    const gate waits(*dev);
    void *pointers[3];
    for (int i = 0; i < 3; i++)
        OK(zemm_memory_get_data_handle(o.args[i].memory, &pointers[i]));
    OK(zemm_ze_interop_primitive_execute(o.primitive, o.stream, 3, o.args, 1, waits.event(), nullptr));
    for (const zemm_exec_arg_t &arg : o.args)
        OK(keeps_memories ? zemm_memory_set_data_handle(arg.memory, nullptr)
                          : zemm_memory_destroy(arg.memory));
    for (const void *pointer : pointers)
        CHECK(is_there(*dev, pointer));
    waits.open();
    OK(zemm_stream_wait(o.stream));
    for (const void *pointer : pointers)
        CHECK(!is_there(*dev, pointer));
    if (keeps_memories)
        destroy(o, {6, 5, 4});
    destroy(o, {3, 2, 1, 0});
}

// The stream is destroyed first, and releases the last reference to the buffers.
void test_stream_keeps_result() {
    objects o = make(cpu_engine());
    const std::shared_ptr<zemm::ze::device> dev = o.engine->device;
    void *pointer = nullptr;
    OK(zemm_memory_get_data_handle(o.dst, &pointer));
    OK(zemm_primitive_execute(o.primitive, o.stream, 3, o.args));
    OK(zemm_memory_destroy(o.dst));
    CHECK(is_there(*dev, pointer));
    OK(zemm_stream_destroy(o.stream));
    CHECK(!is_there(*dev, pointer));
    destroy(o, {5, 4, 3, 2, 0});
}

// When the last object is destroyed, an interop engine leaves nothing in its context.
void test_adopted() {
    ze_context_handle_t context = nullptr;
    const zemm_engine_t engine = adopted_engine(context);
    const std::weak_ptr<zemm::ze::device> dev = engine->device;
    const zemm::ze::api &fn = engine->device->fn;
    test_engine_first(make(engine));
    CHECK(dev.expired());
    CHECK(fn.zeContextDestroy(context) == ZE_RESULT_SUCCESS);
}

} // namespace

int main() {
    if (!zemm_engine_get_count(zemm_cpu))
        return SKIP;
    test_orders();
    test_engine_first(make(cpu_engine()));
    test_identity();
    test_buffers_in_flight(false);
    test_buffers_in_flight(true);
    test_stream_keeps_result();
    test_adopted();
}
