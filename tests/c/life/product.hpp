// SPDX-License-Identifier: Apache-2.0
// A product of matrices of ones with its stream and memories, which may begin with an event.
#pragma once

#include "gate.h"
#include "zemm/zemm_ze.h"
#include "zemm_test.hpp"

struct product {
    static constexpr zemm_dim_t n = 4;

    own<zemm_engine_t> engine = made(zemm_engine_create, zemm_cpu, 0);
    own<zemm_stream_t> stream;
    own<zemm_memory_t> in, out;
    own<zemm_primitive_t> primitive;
    float ones[n * n], result[n * n] = {};

    explicit product(unsigned flags = zemm_stream_default_flags) : stream(new_stream(engine, flags)) {
        std::fill_n(ones, n * n, 1.f);
        const auto md = dense({n, n}, zemm_f32);
        in = made(zemm_memory_create, md, engine, ones);
        out = made(zemm_memory_create, md, engine, result);
        primitive = made(zemm_primitive_create, matmul(md, md, md, nullptr, nullptr, engine));
    }
    void execute(const ze_event_handle_t *event = nullptr) const {
        const zemm_exec_arg_t args[] = {{ZEMM_ARG_SRC, in}, {ZEMM_ARG_WEIGHTS, in}, {ZEMM_ARG_DST, out}};
        OK(zemm_ze_interop_primitive_execute(primitive, stream, 3, args, event ? 1 : 0, event, nullptr));
    }
    bool is_done() const {
        return std::all_of(result, result + n * n, [](float value) { return value == float(n); });
    }
};
