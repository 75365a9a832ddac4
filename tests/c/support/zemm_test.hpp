// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of zemm's C API: TEST, objects that end with their scope, and short ways to make them.
#pragma once

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "destroy.h"
#include "test_case.hpp"

// The CPU engine of the program and a stream on it. Without a CPU device the test is skipped.
inline zemm_engine_t cpu() {
    static const zemm_engine_t engine = [] {
        if (!zemm_engine_get_count(zemm_cpu)) {
            std::printf("skipped: %s\n", zemm_last_error());
            std::exit(SKIP);
        }
        zemm_engine_t created = nullptr;
        OK(zemm_engine_create(&created, zemm_cpu, 0));
        return created;
    }();
    return engine;
}

// ---- calls

template <typename... P>
using last_written = std::remove_pointer_t<std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>>;
// The value that a call writes through its last parameter.
template <typename... P, typename... A> auto got(zemm_status_t (*call)(P...), A &&...args) {
    last_written<P...> value{};
    MUST(call(args..., &value));
    return value;
}
// The object that a call makes through its first parameter.
template <typename T, typename... P, typename... A>
own<T> made(zemm_status_t (*call)(T *, P...), A &&...args) {
    own<T> object;
    MUST(object.object ? zemm_runtime_error : call(&object, args...)); // a failed call has no output
    return object;
}
template <typename T> T queried(const_zemm_memory_desc_t md, zemm_query_t what, int index = 0) {
    T value{};
    MUST(zemm_memory_desc_query_v2(md, what, index, &value));
    return value;
}
template <typename T> T queried(const_zemm_primitive_desc_t pd, zemm_query_t what, int index = 0) {
    T value{};
    MUST(zemm_primitive_desc_query(pd, what, index, &value));
    return value;
}
// The query of an array of dimensions gives these.
inline bool is(const_zemm_memory_desc_t md, zemm_query_t what, std::initializer_list<zemm_dim_t> expected) {
    return std::equal(expected.begin(), expected.end(), *queried<const zemm_dims_t *>(md, what));
}
inline std::string impl_of(const_zemm_primitive_desc_t pd) {
    return queried<const char *>(pd, zemm_query_impl_info_str);
}

// ---- objects

using tensor = own<zemm_memory_desc_t>;
using dims_of = std::initializer_list<zemm_dim_t>;

// Dense and row-major.
inline tensor dense(dims_of dims, zemm_data_type_t type) {
    return made(zemm_memory_desc_create_with_strides, int(dims.size()), dims.begin(), type, nullptr);
}
inline tensor tagged(dims_of dims, zemm_data_type_t type, zemm_format_tag_t tag) {
    return made(zemm_memory_desc_create_with_tag, int(dims.size()), dims.begin(), type, tag);
}
inline tensor tagged(dims_of dims, zemm_data_type_t type, const char *tag) {
    return made(zemm_memory_desc_create_with_string_tag, int(dims.size()), dims.begin(), type, tag);
}
inline own<zemm_primitive_attr_t> new_attr() {
    return made(zemm_primitive_attr_create);
}
inline own<zemm_stream_t> new_stream(zemm_engine_t engine = cpu(),
                                     unsigned flags = zemm_stream_default_flags) {
    return made(zemm_stream_create, engine, flags);
}
inline own<zemm_primitive_desc_t> matmul(const_zemm_memory_desc_t src, const_zemm_memory_desc_t wei,
                                         const_zemm_memory_desc_t dst,
                                         const_zemm_primitive_attr_t attr = nullptr,
                                         const_zemm_memory_desc_t bias = nullptr,
                                         zemm_engine_t engine = cpu()) {
    return made(zemm_matmul_primitive_desc_create, engine, src, wei, bias, dst, attr);
}

// A primitive and its arguments, on memory of the test.
struct call {
    own<zemm_primitive_desc_t> pd;
    own<zemm_primitive_t> primitive;
    std::deque<own<zemm_memory_t>> memories;
    std::vector<zemm_exec_arg_t> args;

    explicit call(own<zemm_primitive_desc_t> of, bool creates = true) : pd(std::move(of)) {
        if (creates)
            primitive = made(zemm_primitive_create, pd);
    }
    // The primitive's descriptor says the layout, unless the test does.
    void pass(int arg, const void *data, const_zemm_memory_desc_t md = nullptr) {
        const zemm_engine_t engine = queried<zemm_engine_t>(pd, zemm_query_engine);
        if (!md)
            md = zemm_primitive_desc_query_md(pd, zemm_query_exec_arg_md, arg);
        memories.push_back(made(zemm_memory_create, md, engine, const_cast<void *>(data)));
        args.push_back({arg, memories.back()});
    }
    zemm_status_t execute(zemm_stream_t stream) const {
        return zemm_primitive_execute(primitive, stream, int(args.size()), args.data());
    }
    void run(zemm_stream_t stream) const {
        MUST(execute(stream));
        MUST(zemm_stream_wait(stream));
    }
};

#define SCALES(arg) (ZEMM_ARG_ATTR_SCALES | (arg))
#define ZERO_POINTS(arg) (ZEMM_ARG_ATTR_ZERO_POINTS | (arg))
#define REDUCTIONS (ZEMM_ARG_ATTR_PRECOMPUTED_REDUCTIONS | ZEMM_ARG_SRC)

// Fills arrays with small integers in [low, high], the same ones for the same state.
template <typename T> void draw(T &array, unsigned &state, int low, int high) {
    for (auto &element : array)
        if constexpr (std::is_array_v<std::remove_reference_t<decltype(element)>>) {
            draw(element, state, low, high);
        } else {
            state = state * 1664525u + 1013904223u;
            element = static_cast<std::remove_reference_t<decltype(element)>>(
                low + int((state >> 8) % unsigned(high - low + 1)));
        }
}
