// SPDX-License-Identifier: Apache-2.0
// The base classes of primitive descriptors and primitives, from which each kind of primitive
// derives its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/attr.hpp"
#include "primitive/arguments.hpp"
#include "primitive/objects.hpp"
#include "ze/module.hpp"

namespace zemm {
enum class cache_result; // primitive_cache.hpp
}

struct zemm_primitive_desc {
    explicit zemm_primitive_desc(zemm_engine_t e) : engine(e->shared_from_this()) {}
    virtual ~zemm_primitive_desc() = default;

    virtual zemm_primitive_kind_t kind() const = 0;
    virtual const zemm_primitive_attr &attr() const = 0;
    virtual const char *impl_name() const = 0;
    virtual bool empty() const = 0; // there is nothing to compute, and arguments need no data

    virtual std::unique_ptr<zemm_primitive_desc> clone() const = 0;
    // Moves on to the next implementation. Returns false, without a change, if there is none.
    virtual bool next_impl() = 0;
    // Creates a primitive of this implementation only. found: set to where its kernels came from.
    virtual std::unique_ptr<zemm_primitive> create(zemm::cache_result &found) const = 0;
    // The kernels that the implementation runs; the first one gives it its name. Empty for an empty
    // problem.
    virtual std::vector<zemm::ze::kernel_source> sources() const = 0;
    // The tensors that tell primitives of this kind apart in the primitive cache.
    virtual std::vector<const zemm::memory_desc *> key_tensors() const = 0;
    // A text that also tells them apart; "" if nothing else does.
    virtual std::string key_text() const { return ""; }
    // A tuning file (matmul/choose/tuning.hpp) with the choices of this descriptor. Throws unimplemented for
    // kinds of primitives that cannot be tuned.
    virtual std::string tuning_text() const;

    // The answer of a zemm_query_..._md; a zero descriptor if the query does not apply.
    virtual const zemm::memory_desc &query_md(zemm_query_t what, int index) const;
    // Answers queries. Throws unimplemented for a query that this kind of primitive does not have.
    virtual void query(zemm_query_t what, int index, void *result) const;

    // The part of a log line from the engine kind to the dimensions.
    virtual std::string log_text() const = 0;

    const std::shared_ptr<zemm_engine> engine;
    zemm::argument_map arguments; // what an execution must pass
    // In user mode, the descriptor of the scratchpad that the caller passes; else a zero
    // descriptor.
    zemm::memory_desc scratchpad;
    size_t scratchpad_size = 0; // bytes that the implementation needs, in either mode

protected:
    zemm_primitive_desc(const zemm_primitive_desc &) = default;

private:
    // The id of the primitive's cache blobs, which queries point to.
    struct id_of_blobs {
        id_of_blobs() = default;
        id_of_blobs(const id_of_blobs &) {}
        std::mutex lock;
        std::string text;
    };
    mutable id_of_blobs blob_id_;
};

struct zemm_primitive {
    explicit zemm_primitive(std::unique_ptr<const zemm_primitive_desc> desc) : pd(std::move(desc)) {}
    virtual ~zemm_primitive() = default;

    // Checks the arguments, submits an execution and writes its log line. If it throws, nothing is
    // submitted.
    virtual void execute(zemm_stream &stream, std::span<const zemm_exec_arg_t> args,
                         std::span<const ze_event_handle_t> waits) const = 0;

    const std::unique_ptr<const zemm_primitive_desc> pd;
};

namespace zemm {

// Keeps the library's buffers of memories until the stream's work has run, as the caller may destroy the
// memories before that, or give them other handles.
void keep_buffers(ze::stream &stream, const memory_map &memories);

struct launch;
struct operand;
// Makes a launch that copies a plain tensor to one of the same type and dimensions. Throws unimplemented if
// no kernel does.
using copy_maker = launch(const memory_desc &from, const memory_desc &to, const operand &source,
                          const operand &destination, const ze::device &dev);

// A primitive that knows all dimensions and strides. (Others: runtime.hpp.)
class static_primitive : public zemm_primitive {
public:
    // make_copy: for parameters that kernels read as dense tensors, where memories have other strides.
    static_primitive(std::unique_ptr<const zemm_primitive_desc> desc, copy_maker *make_copy)
        : zemm_primitive(std::move(desc)), make_copy_(make_copy) {}
    void execute(zemm_stream &stream, std::span<const zemm_exec_arg_t> args,
                 std::span<const ze_event_handle_t> waits) const final;

    // Values that an execution has read from memories.
    struct values {
        virtual ~values() = default;
        // The part of the execution's log line that zemm_primitive_desc::log_text() describes.
        virtual std::string log_text() const = 0;
    };
    // Reads and checks values of arguments that the host has to know before it submits anything. Throws
    // invalid_arguments. nullptr if there are none, or none that run() needs.
    virtual std::unique_ptr<const values> read_values(ze::stream &, const memory_map &,
                                                      std::span<const ze_event_handle_t>) const {
        return nullptr;
    }
    // Submits the launches, with arguments that bind() has checked and the result of read_values(). The
    // stream keeps the objects that it uses alive until it has been waited for. If it throws, the results are
    // unchanged.
    virtual void run(ze::stream &stream, const memory_map &memories, const values *read,
                     std::span<const ze_event_handle_t> waits) const = 0;

private:
    copy_maker *const make_copy_;
};

} // namespace zemm
