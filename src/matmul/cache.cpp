// SPDX-License-Identifier: Apache-2.0
// The primitive cache: least recently used entries leave when there are more than its capacity.
#include <list>
#include <mutex>
#include <unordered_map>

#include "common/cache_capacity.hpp"
#include "common/error.hpp"
#include "kernels/spirv.hpp"
#include "matmul/compiled.hpp"

namespace zemm::matmul {

namespace {

ze::spirv spirv_of(const std::string &name) {
    for (unsigned i = 0; i < kernels::spirv_count; ++i)
        if (name == kernels::spirv_table[i].name)
            return {kernels::spirv_table[i].name,
                    {kernels::spirv_table[i].data, kernels::spirv_table[i].size}};
    fail(zemm_runtime_error, "the library was built without the kernel %s", name.c_str());
}

// GPUs that address a buffer by 32-bit offsets have to be told of larger ones. CPUs have no such flag.
const char *build_flags(const zemm_primitive_desc &pd) {
    const auto is_large = [](const memory_desc &md) { return md_size(md) > UINT32_MAX; };
    const problem &p = *pd.problem;
    const bool large =
        is_large(p.src) || is_large(p.wei) || is_large(p.dst) || pd.plan.scratchpad_size > UINT32_MAX;
    return large && pd.engine->kind == zemm_gpu ? "-ze-opt-greater-than-4GB-buffer-required" : "";
}

std::shared_ptr<const compiled> build(const zemm_primitive_desc &pd) {
    auto result = std::make_shared<compiled>();
    result->device = pd.engine->device;
    result->plan = pd.plan;
    if (pd.problem->empty())
        return result;
    const plan &plan = result->plan;
    const char *flags = build_flags(pd);
    result->matmul =
        ze::get_kernel(result->device, spirv_of(plan.row->name), "matmul", plan.constants, flags);
    if (plan.computes_reductions)
        result->reduce_src = ze::get_kernel(result->device, spirv_of("reduce_src"), "reduce_src",
                                            {{SPEC_SRC_DT, uint32_t(pd.problem->src.data_type)}}, flags);
    const ze::usm kind = result->device->host_pointers ? ze::usm::host : ze::usm::device;
    result->block = std::make_unique<ze::buffer>(result->device, sizeof(plan.block), kind);
    ze::copy_now(*result->device, result->block->data(), &plan.block, sizeof(plan.block));
    return result;
}

class cache {
public:
    std::shared_ptr<const compiled> find(const std::string &key) {
        const std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found == index_.end())
            return nullptr;
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->second;
    }

    // Keeps the first of two that were built at the same time.
    std::shared_ptr<const compiled> insert(const std::string &key, std::shared_ptr<const compiled> value) {
        const int capacity = primitive_cache_capacity();
        const std::lock_guard lock(mutex_);
        const auto found = index_.find(key);
        if (found != index_.end())
            return found->second->second;
        entries_.emplace_front(key, value);
        index_[key] = entries_.begin();
        shrink(capacity);
        return value;
    }

    void forget(const ze::device &device) {
        decltype(entries_) dropped; // destroyed after the lock is released
        const std::lock_guard lock(mutex_);
        for (auto it = entries_.begin(); it != entries_.end();) {
            const auto next = std::next(it);
            if (it->second->device.get() == &device) {
                index_.erase(it->first);
                dropped.splice(dropped.begin(), entries_, it);
            }
            it = next;
        }
    }

    void set_capacity(int capacity) {
        const std::lock_guard lock(mutex_);
        shrink(capacity);
    }

private:
    void shrink(int capacity) {
        while (entries_.size() > size_t(capacity)) {
            index_.erase(entries_.back().first);
            entries_.pop_back();
        }
    }

    std::mutex mutex_;
    std::list<std::pair<std::string, std::shared_ptr<const compiled>>> entries_; // most recent first
    std::unordered_map<std::string, decltype(entries_)::iterator> index_;
};

// Never destroyed: at process exit the device's driver may be gone before static objects are.
cache &the_cache() {
    static cache *instance = [] {
        auto *made = new cache;
        on_cache_capacity_change([](int capacity) { the_cache().set_capacity(capacity); });
        return made;
    }();
    return *instance;
}

} // namespace

std::shared_ptr<const compiled> get_compiled(const zemm_primitive_desc &pd, bool &hit) {
    const std::string key = text("%p,%s,", (void *)pd.engine->device.get(), pd.kernels[pd.chosen]->name) +
                            problem_key(*pd.problem);
    if (auto found = the_cache().find(key)) {
        hit = true;
        return found;
    }
    hit = false;
    return the_cache().insert(key, build(pd));
}

void forget(const ze::device &device) {
    the_cache().forget(device);
}

} // namespace zemm::matmul
