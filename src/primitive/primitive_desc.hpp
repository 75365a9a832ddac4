// SPDX-License-Identifier: Apache-2.0
// What primitive descriptors and primitives of every kind have in common; each kind derives its own.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "common/attr.hpp"
#include "primitive/arguments.hpp"
#include "primitive/objects.hpp"
#include "primitive/primitive_cache.hpp"
#include "ze/module.hpp"

namespace zemm {

// Bytes; what is in a scratchpad begins at multiples of it.
constexpr size_t scratchpad_alignment = 64; // a cache line
// The first of these in the caller's scratchpad, which may begin anywhere: its descriptor has room for that.
char *aligned_scratchpad(void *pointer);

} // namespace zemm

struct zemm_primitive_desc {
    explicit zemm_primitive_desc(zemm_engine_t e) : engine(e->shared_from_this()) {}
    virtual ~zemm_primitive_desc() = default;

    virtual zemm_primitive_kind_t kind() const = 0;
    virtual const zemm_primitive_attr &attr() const = 0;
    virtual const char *impl_name() const = 0;
    virtual bool empty() const = 0; // nothing is computed, arguments need no data

    virtual std::unique_ptr<zemm_primitive_desc> clone() const = 0;
    // False at the end of the list, with no change.
    virtual bool next_impl() = 0;
    // A primitive that runs this descriptor as it stands; found says where its kernels were.
    virtual std::unique_ptr<zemm_primitive> create(zemm::cache_result &found) const = 0;
    // The kernels that it runs, the one that gives it its name first; none for an empty problem.
    virtual std::vector<zemm::ze::kernel_source> sources() const = 0;

    // The descriptor of a zemm_query_..._md; a zero descriptor where the query does not apply.
    virtual const zemm::memory_desc &query_md(zemm_query_t what, int index) const;
    // Answers the queries of values; unimplemented for those that the kind does not have.
    virtual void query(zemm_query_t what, int index, void *result) const;

    // The log's line from the engine's kind to the dimensions.
    virtual std::string log_text() const = 0;

    const std::shared_ptr<zemm_engine> engine;
    zemm::argument_map arguments; // of an execution
    zemm::memory_desc scratchpad; // the caller's, in user mode; else a zero descriptor
    size_t scratchpad_size = 0;   // bytes that it needs in either mode

protected:
    zemm_primitive_desc(const zemm_primitive_desc &) = default;
    // The scratchpad's descriptor for so many bytes.
    zemm::memory_desc scratchpad_md(size_t size) const;
};

struct zemm_primitive {
    explicit zemm_primitive(std::unique_ptr<const zemm_primitive_desc> desc) : pd(std::move(desc)) {}
    virtual ~zemm_primitive() = default;

    // Submits an execution with checked arguments; the stream keeps what it uses until it is waited for.
    virtual void run(zemm::ze::stream &stream, const std::map<int, zemm_memory_t> &memories,
                     std::span<const ze_event_handle_t> waits) const = 0;

    const std::unique_ptr<const zemm_primitive_desc> pd;
};
