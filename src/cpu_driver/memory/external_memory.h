// SPDX-License-Identifier: Apache-2.0
//
// Reads requests for memory of other APIs and processes from the descriptor of an allocation.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include <level_zero/ze_api.h>

#include "border/border.h"
#include "process/memory_file.h"

namespace ze_cpu {

/// Why a file descriptor cannot be imported.
std::string no_memory_of_driver(int64_t descriptor);

/// The requests to import or export memory in the pNext chains of a call.
class ExternalMemory {
public:
    /// Throws ze_result_t, with a sentence, if they ask for what this driver does not have.
    explicit ExternalMemory(std::initializer_list<const void *> chains);

    bool is_asked_for() const { return import_ || exported_; }
    /// The file to import, or a new one. Throws ze_result_t, with a sentence, if what is to be imported
    /// is no memory of this driver or has less than `size` bytes.
    std::shared_ptr<MemoryFile> file(size_t size) const;

private:
    const ze_external_memory_import_fd_t *import_ = nullptr;
    bool exported_ = false;
};

} // namespace ze_cpu
