// SPDX-License-Identifier: Apache-2.0
// The backend for ggml: a library with a device of type ACCEL, which a program uses beside the CPU's.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include "ggml/buffer.hpp"
#include "ggml/functions.hpp"
#include "ggml/graph.hpp"
#include "ggml/repack.hpp"
#include "ggml/team.hpp"

using namespace zemm_ggml;

namespace {

constexpr int64_t usual_rows = 32;  // from so many on it is faster than ggml (docs/ggml.md)
constexpr int64_t rows_to_pack = 4; // times as many, if each matrix is packed for them
constexpr uint8_t guid[16] = {0x7a, 0x65, 0x6d, 0x6d, 0x2d, 0x67, 0x67, 0x6d,
                              0x6c, 0x2d, 0x62, 0x61, 0x63, 0x6b, 0x65, 0x64};

struct state {
    ggml::reg reg{};
    ggml::device device{};
    ggml::buffer_type buffers{};
    owned_engine engine;
    std::string description;
    int64_t least_rows = usual_rows; // fewer are left to ggml
    bool has_all_types = false;      // also those that ggml is as fast with
};

state *the_state; // made once, never destroyed: objects of ggml refer to it until the process ends

// The state of a backend.
struct context {
    zemm_ggml::calls calls;
    int threads = 1; // of ggml
};

context &context_of(ggml::backend *backend) {
    return *static_cast<context *>(backend->context);
}

const char *backend_name(ggml::backend *) {
    return "zemm";
}

void backend_free(ggml::backend *backend) {
    delete &context_of(backend);
    delete backend;
}

void compute(calls &c, ggml::cgraph *graph) {
    for (int i = 0; i < api.graph_n_nodes(graph); ++i) {
        const ggml::tensor *const node = api.graph_node(graph, i);
        if (node->flags & ggml::flag_compute && !is_view(node))
            multiply(c, node);
    }
    c.wait();
}

int graph_compute(ggml::backend *backend, ggml::cgraph *graph) {
    context &c = context_of(backend);
    try {
        run_alone(c.threads, [&] { compute(c.calls, graph); });
        return ggml::status_success;
    } catch (const std::exception &e) {
        c.calls.give_up();
        log(ggml::log_error, "%s", e.what());
        return ggml::status_failed;
    }
}

const char *device_name(ggml::device *) {
    return "zemm";
}

const char *device_description(ggml::device *) {
    return the_state->description.c_str();
}

void device_memory(ggml::device *, size_t *free, size_t *total) {
    *free = *total = 0; // it has none of its own
}

int device_type(ggml::device *) {
    return ggml::device_accel;
}

void device_props(ggml::device *device, ggml::device_props *props) {
    *props = {device_name(device), device_description(device), 0, 0, ggml::device_accel, nullptr, {}};
}

ggml::backend *init_backend(ggml::device *device, const char *) {
    try {
        ggml::backend_i functions{};
        functions.get_name = backend_name;
        functions.free = backend_free;
        functions.graph_compute = graph_compute;
        std::unique_ptr<context> made(new context{calls(the_state->engine.get())});
        auto *const backend = new ggml::backend{guid, functions, device, made.get()};
        made.release();
        return backend;
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s", e.what());
        return nullptr;
    }
}

ggml::buffer_type *device_buffer_type(ggml::device *) {
    return &the_state->buffers;
}

int64_t least_rows_of(const ggml::tensor *w) {
    return the_state->least_rows * (is_kept(w) ? 1 : rows_to_pack * w->ne[2] * w->ne[3]);
}

// Weights that have no memory yet get an answer for all rows: ggml's tests ask then. Those that a graph makes
// are ggml's, which has them in its own layout.
bool supports_op(ggml::device *, const ggml::tensor *node) {
    try {
        unpack_what_others_use(node);
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s", e.what());
        return false;
    }
    if (is_view(node))
        return true;
    if (!is_supported(node) || !(the_state->has_all_types || find_format(node->src[0]->type)->is_gain))
        return false;
    const ggml::tensor *const w = node->src[0];
    if (buffer_of(w))
        return is_in_buffer(w) && rows_of(node) >= least_rows_of(w);
    return whole_of(w)->op == ggml::op_none && !(whole_of(w)->flags & ggml::flag_input);
}

bool supports_buft(ggml::device *, ggml::buffer_type *type) {
    try {
        return api.backend_buft_is_host(type) || is_repacker(type);
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s", e.what());
        return false;
    }
}

const char *reg_name(ggml::reg *) {
    return "zemm";
}

size_t device_count(ggml::reg *) {
    return 1;
}

ggml::device *get_device(ggml::reg *, size_t) {
    return &the_state->device;
}

// As many of zemm's threads compute, in all contexts of the process.
void set_threads(ggml::backend *backend, int threads) {
    context_of(backend).threads = threads;
    static std::atomic<int> set{0};
    const int most = std::min(threads, int(std::thread::hardware_concurrency()));
    if (set.exchange(most) != most && zemm_set_num_threads(most) != zemm_success)
        log(ggml::log_warn, "%s", zemm_last_error());
}

void *get_proc_address(ggml::reg *, const char *name) {
    if (std::strcmp(name, "ggml_backend_set_n_threads") == 0)
        return reinterpret_cast<void *>(set_threads);
    return nullptr;
}

// GGML_ZEMM_LEAST_ROWS, a positive number.
int64_t read_least_rows() {
    const char *const text = std::getenv("GGML_ZEMM_LEAST_ROWS");
    if (!text || !*text)
        return usual_rows;
    char *end = nullptr;
    const long long number = std::strtoll(text, &end, 10);
    if (*end || number < 1)
        throw std::runtime_error(std::string("GGML_ZEMM_LEAST_ROWS is '") + text +
                                 "', not a positive number");
    return number;
}

state *make_state() {
    auto made = std::make_unique<state>();
    made->engine =
        created<owned_engine>([](zemm_engine_t *engine) { return zemm_engine_create(engine, zemm_cpu, 0); });
    const char *name = nullptr;
    check(zemm_engine_get_name(made->engine.get(), &name));
    made->description = std::string("zemm on ") + name;
    made->least_rows = read_least_rows();
    made->has_all_types = is_set("GGML_ZEMM_ALL_TYPES");
    made->reg = {ggml::api_version, {reg_name, device_count, get_device, get_proc_address}, nullptr};
    ggml::device_i functions{};
    functions.get_name = device_name;
    functions.get_description = device_description;
    functions.get_memory = device_memory;
    functions.get_type = device_type;
    functions.get_props = device_props;
    functions.init_backend = init_backend;
    functions.get_buffer_type = device_buffer_type;
    functions.supports_op = supports_op;
    functions.supports_buft = supports_buft;
    made->device = {functions, &made->reg, nullptr};
    init_buffer_type(made->buffers, &made->device, made->engine.get());
    return made.release();
}

ggml::reg *init(void *caller) {
    if (the_state)
        return &the_state->reg;
    try {
        const std::string why = find_functions(caller);
        if (!why.empty())
            throw std::runtime_error(why);
        the_state = make_state();
        log(ggml::log_info, "%s multiplies %lld rows and more by quantised weights, ggml's CPU device fewer",
            the_state->description.c_str(), static_cast<long long>(the_state->least_rows));
        return &the_state->reg;
    } catch (const std::exception &e) {
        log(ggml::log_warn, "the backend is not used: %s", e.what());
        return nullptr;
    }
}

} // namespace

// ggml calls this when it loads the library.
extern "C" __attribute__((visibility("default"))) ggml::reg *ggml_backend_init() {
    return init(__builtin_return_address(0));
}
