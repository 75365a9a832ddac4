// SPDX-License-Identifier: Apache-2.0
// The backend for ggml: a library with a device of type ACCEL, which has no memory of its own. It multiplies
// by weights where ggml's CPU device has them, and whatever it cannot do, that device does.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include "ggml/functions.hpp"
#include "ggml/graph.hpp"
#include "ggml/report.hpp"
#include "ggml/team.hpp"

using namespace zemm_ggml;

namespace {

// Products by how fast ggml is, and from how many rows on zemm is faster (docs/ggml.md): where it packs
// weights for each product, and where it keeps them. ggml multiplies the rows of experts slower than others,
// and by weights for AMX faster. K-quants, which have the larger parameters, take zemm longer to pack.
enum kind { usual, of_experts, for_amx, k_quants_for_amx, kinds };
constexpr std::array<int64_t, kinds> rows_where_packed = {96, 32, 256, 512},
                                     rows_where_kept = {32, 32, 256, 256};
constexpr uint8_t guid[16] = {0x7a, 0x65, 0x6d, 0x6d, 0x2d, 0x67, 0x67, 0x6d,
                              0x6c, 0x2d, 0x62, 0x61, 0x63, 0x6b, 0x65, 0x64};

struct state {
    ggml::reg reg{};
    ggml::device device{};
    bool keeps_weights = false;              // in a second copy, in zemm's layout
    std::array<int64_t, kinds> least_rows{}; // fewer are left to ggml
    bool has_all_types = false;              // also those that ggml is as fast with
    std::atomic<bool> has_no_engine{false};
    report all;
};

state *the_state; // made once, never destroyed: objects of ggml refer to it until the process ends

// The engine of all backends, made at the first product: it takes 0.1 GB.
zemm_engine_t make_engine() {
    the_state->has_no_engine = true;
    static const owned_engine &made = *new owned_engine(
        created<owned_engine>([](zemm_engine_t *engine) { return zemm_engine_create(engine, zemm_cpu, 0); }));
    the_state->has_no_engine = false;
    return made.get();
}

struct backend_freer {
    void operator()(ggml::backend *backend) const { api.backend_free(backend); }
};

// The state of a backend.
struct context {
    std::unique_ptr<zemm_ggml::calls> calls;
    std::unique_ptr<ggml::backend, backend_freer> cpu; // ggml's, for what zemm fails to compute
    int threads = 0;                                   // of ggml; 0: it has not said
};

context &context_of(ggml::backend *backend) {
    return *static_cast<context *>(backend->context);
}

const char *backend_name(ggml::backend *) {
    return "zemm";
}

void backend_free(ggml::backend *backend) {
    the_state->all.write();
    delete &context_of(backend);
    delete backend;
}

using set_threads_function = void (*)(ggml::backend *, int);

ggml::backend *cpu_of(context &c) {
    ggml::device *const device = api.backend_dev_by_type(ggml::device_cpu);
    if (!c.cpu && device)
        c.cpu.reset(api.backend_dev_init(device, nullptr));
    if (!c.cpu)
        throw std::runtime_error("and ggml has no CPU device");
    const auto set = reinterpret_cast<set_threads_function>(
        api.backend_reg_get_proc_address(api.backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
    if (set && (c.threads > 0 || !has_threads()))
        set(c.cpu.get(), has_threads() ? c.threads : 1);
    return c.cpu.get();
}

struct context_freer {
    void operator()(ggml::context *context) const { api.free(context); }
};

// Lets ggml's CPU device compute the nodes from node `first` on.
int compute_by_ggml(context &c, ggml::cgraph *graph, int first) {
    const int count = api.graph_n_nodes(graph) - first;
    if (count == 0)
        return ggml::status_success;
    const size_t size = api.graph_overhead_custom(size_t(count), false);
    const std::unique_ptr<ggml::context, context_freer> memory(api.init({size, nullptr, true}));
    ggml::cgraph *const rest = memory ? api.new_graph_custom(memory.get(), size_t(count), false) : nullptr;
    if (!rest)
        throw std::bad_alloc();
    for (int i = 0; i < count; ++i)
        api.graph_add_node(rest, api.graph_node(graph, first + i));
    return api.backend_graph_compute(cpu_of(c), rest);
}

// The first node that is computed from node `first` on.
int find_computed(ggml::cgraph *graph, int first) {
    const int count = api.graph_n_nodes(graph);
    const auto is_computed = [&](const ggml::tensor *node) {
        return node->flags & ggml::flag_compute && !is_view(node);
    };
    while (first < count && !is_computed(api.graph_node(graph, first)))
        ++first;
    return first;
}

// As many of zemm's threads compute, in all contexts of the process.
void limit_threads(int threads) {
    static std::atomic<int> set{0};
    const int most = std::min(threads, int(std::thread::hardware_concurrency()));
    if (most > 0 && set.exchange(most) != most && zemm_set_num_threads(most) != zemm_success)
        log(ggml::log_warn, "%s", zemm_last_error());
}

// next: the first node that is not submitted.
void compute(context &c, ggml::cgraph *graph, int &next) {
    const int count = api.graph_n_nodes(graph);
    next = find_computed(graph, 0);
    if (next == count)
        return;
    if (!c.calls)
        c.calls = std::make_unique<calls>(make_engine(), the_state->keeps_weights);
    limit_threads(c.threads);
    with_team(c.threads, [&](const team &threads) {
        c.calls->compute_with(threads);
        while (next < count) {
            const ggml::tensor *const node = api.graph_node(graph, next);
            multiply(*c.calls, node);
            next = find_computed(graph, next + 1);
            the_state->all.count(node);
        }
        c.calls->wait();
    });
}

int graph_compute(ggml::backend *backend, ggml::cgraph *graph) {
    context &c = context_of(backend);
    int next = 0;
    try {
        try {
            if (the_state->has_no_engine)
                return compute_by_ggml(c, graph, next); // a graph that was planned before this was known
            compute(c, graph, next);
            return ggml::status_success;
        } catch (const wrong_graph &) {
            throw;
        } catch (const std::exception &e) {
            const bool is_last = the_state->has_no_engine;
            log(ggml::log_warn, "ggml's CPU device multiplies%s: %s", is_last ? " from now on" : " instead",
                e.what());
        }
        if (c.calls)
            c.calls->give_up();
        return compute_by_ggml(c, graph, next);
    } catch (const std::exception &e) {
        if (c.calls)
            c.calls->give_up();
        log(ggml::log_error, "%s", e.what());
        return ggml::status_failed;
    }
}

const char *device_name(ggml::device *) {
    return "zemm";
}

const char *device_description(ggml::device *) {
    return "zemm's products of many rows on the CPU";
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
        auto made = std::make_unique<context>();
        auto *const backend = new ggml::backend{guid, functions, device, made.get()};
        made.release();
        return backend;
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s", e.what());
        return nullptr;
    }
}

ggml::buffer_type *device_buffer_type(ggml::device *) {
    return api.backend_cpu_buffer_type();
}

kind kind_of(const ggml::tensor *node) {
    if (has_experts(node))
        return of_experts;
    if (!is_for_amx(node->src[0]))
        return usual;
    return find_format(node->src[0]->type)->scales == zemm_f32 ? k_quants_for_amx : for_amx;
}

// Why the product is left to ggml.
reason why_not(const ggml::tensor *node) {
    if (!is_supported(node))
        return reason::other_type;
    const ggml::tensor *const w = node->src[0], *const whole = whole_of(w);
    const format &f = *find_format(w->type);
    if (!(the_state->has_all_types || f.is_gain))
        return reason::no_gain;
    if (whole->op != ggml::op_none || whole->flags & ggml::flag_input)
        return reason::made_in_graph;
    if (!is_readable(w, f))
        return reason::not_readable;
    // Weights that have no memory yet get an answer for all rows: ggml's tests ask then.
    if (buffer_of(w) && rows_of_a_matrix(node) < the_state->least_rows[kind_of(node)])
        return reason::few_rows;
    return reason::none;
}

bool supports_op(ggml::device *, const ggml::tensor *node) {
    try {
        if (is_view(node))
            return true;
        if (!is_product(node))
            return false;
        if (the_state->has_no_engine) {
            the_state->all.leave(reason::no_engine);
            return false;
        }
        const reason why = why_not(node);
        if (node->src[0]->op == ggml::op_none) // not a part of a cache
            the_state->all.leave(why);
        return why == reason::none;
    } catch (const std::exception &e) {
        log(ggml::log_error, "%s", e.what());
        return false;
    }
}

bool supports_buft(ggml::device *, ggml::buffer_type *type) {
    return api.backend_buft_is_host(type) || is_repacker(type);
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

void set_threads(ggml::backend *backend, int threads) {
    context_of(backend).threads = threads;
}

int64_t count_products() {
    return the_state->all.products();
}

// zemm_products: a function without arguments, the number of products until now (zemm.ggml).
void *get_proc_address(ggml::reg *, const char *name) {
    if (std::strcmp(name, "ggml_backend_set_n_threads") == 0)
        return reinterpret_cast<void *>(set_threads);
    if (std::strcmp(name, "zemm_products") == 0)
        return reinterpret_cast<void *>(count_products);
    return nullptr;
}

// GGML_ZEMM_WEIGHTS: once (as ggml has them), or twice (also in zemm's layout).
bool read_keeps_weights() {
    const char *const text = std::getenv("GGML_ZEMM_WEIGHTS");
    const std::string_view value = text ? text : "";
    if (value != "" && value != "once" && value != "twice")
        throw std::runtime_error("GGML_ZEMM_WEIGHTS is '" + std::string(value) + "', not once or twice");
    return value == "twice";
}

// GGML_ZEMM_LEAST_ROWS, a positive number, for all kinds.
std::array<int64_t, kinds> read_least_rows(bool keeps_weights) {
    const char *const text = std::getenv("GGML_ZEMM_LEAST_ROWS");
    if (!text || !*text)
        return keeps_weights ? rows_where_kept : rows_where_packed;
    char *end = nullptr;
    const long long number = std::strtoll(text, &end, 10);
    if (*end || number < 1)
        throw std::runtime_error(std::string("GGML_ZEMM_LEAST_ROWS is '") + text +
                                 "', not a positive number");
    std::array<int64_t, kinds> all;
    all.fill(number);
    return all;
}

state *make_state() {
    auto made = std::make_unique<state>();
    made->keeps_weights = read_keeps_weights();
    made->least_rows = read_least_rows(made->keeps_weights);
    made->has_all_types = is_set("GGML_ZEMM_ALL_TYPES");
    made->reg = {api.interface(), {reg_name, device_count, get_device, get_proc_address}, nullptr};
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
    return made.release();
}

// Why init() returned null, or empty.
std::string &refusal() {
    static std::string &text = *new std::string;
    return text;
}

ggml::reg *init(void *caller) {
    try {
        refusal() = find_functions(caller);
        if (refusal().empty() && !__builtin_cpu_supports("avx2"))
            refusal() = "this CPU has no AVX2";
        if (!refusal().empty())
            throw std::runtime_error(refusal());
        if (!the_state)
            the_state = make_state();
        log(ggml::log_info,
            "multiplies %lld rows and more by quantised weights (of an expert %lld, by weights for AMX "
            "%lld), "
            "ggml's CPU device fewer",
            static_cast<long long>(the_state->least_rows[usual]),
            static_cast<long long>(the_state->least_rows[of_experts]),
            static_cast<long long>(the_state->least_rows[for_amx]));
        return &the_state->reg;
    } catch (const std::exception &e) {
        refusal() = e.what();
        log(ggml::log_warn, "the backend is not used: %s", e.what());
        return nullptr;
    }
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

// ggml calls this when it loads the library.
EXPORTED ggml::reg *ggml_backend_init() {
    return init(__builtin_return_address(0));
}

// Why the last call of it returned null; empty if it did not (zemm.ggml).
EXPORTED const char *ggml_zemm_refusal() {
    return refusal().c_str();
}
