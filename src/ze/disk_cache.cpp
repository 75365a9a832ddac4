// SPDX-License-Identifier: Apache-2.0
// Reads and writes entries, and the files of the disk cache, which have one each. An entry consists
// of: char[8] magic, u64 checksum of the rest, u64 bytes of the key, u64 bytes of the binary, the
// key, the binary.
#include "ze/disk_cache.hpp"

#include <cstring>
#include <mutex>

#include "common/error.hpp"
#include "ze/cache_folder.hpp"

namespace zemm::ze::disk_cache {
namespace {

constexpr char magic[8] = {'Z', 'E', 'M', 'M', 'B', 'I', 'N', '1'}; // the last one is the format's version
constexpr size_t header = sizeof magic + 3 * sizeof(uint64_t);
constexpr size_t largest_entry = size_t(64) << 20;

// A checksum that always changes if one word of the input changes, because every step is
// invertible.
uint64_t hash(std::span<const uint8_t> bytes, uint64_t seed) {
    constexpr uint64_t odd = 0x9e3779b97f4a7c15;
    uint64_t sum = seed + bytes.size() * odd;
    while (!bytes.empty()) {
        uint64_t word = 0;
        const size_t step = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), step);
        sum = (sum ^ word) * odd;
        sum ^= sum >> 32;
        bytes = bytes.subspan(step);
    }
    return (sum ^ sum >> 29) * odd;
}

uint64_t number_at(std::span<const uint8_t> entry, size_t offset) {
    uint64_t value;
    std::memcpy(&value, entry.data() + offset, sizeof value);
    return value;
}

// "" if the file has one undamaged entry with this key, else the reason why it cannot be used.
const char *problem_of(std::span<const uint8_t> file, const std::string &key) {
    entry found;
    if (const char *why = read_entry(file, found); *why)
        return why;
    if (found.size != file.size())
        return "it is damaged";
    return found.key == key ? "" : "it is another module";
}

// Never destroyed, because threads may still build modules while the process ends.
struct state {
    std::mutex lock;
    cache_folder folder;
};
state &the_state() {
    static state &instance = *new state;
    return instance;
}

std::string file_name(const std::string &key) {
    const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(key.data()), key.size());
    return text("%016zx%016zx", size_t(hash(bytes, 1)), size_t(hash(bytes, 2))) + entry_suffix;
}

} // namespace

bool enabled() {
    return the_state().folder.usable();
}

std::string key_of(const device &dev, const spirv &binary, const std::vector<spec_constant> &constants,
                   const char *flags) {
    std::string key =
        text("%s|%s|%zu|%s|%s", dev.identity.c_str(), binary.name, binary.words.size(), binary.hash, flags);
    for (const spec_constant &c : constants)
        key += text("|%u=%u", c.id, c.value);
    return key;
}

std::vector<uint8_t> make_entry(const std::string &key, std::span<const uint8_t> binary) {
    std::vector<uint8_t> entry(header + key.size() + binary.size());
    const uint64_t sizes[2] = {key.size(), binary.size()};
    std::memcpy(entry.data(), magic, sizeof magic);
    std::memcpy(entry.data() + 16, sizes, sizeof sizes);
    std::memcpy(entry.data() + header, key.data(), key.size());
    std::memcpy(entry.data() + header + key.size(), binary.data(), binary.size());
    const uint64_t sum = hash(std::span<const uint8_t>(entry).subspan(16), 0);
    std::memcpy(entry.data() + 8, &sum, sizeof sum);
    return entry;
}

const char *read_entry(std::span<const uint8_t> bytes, entry &result) {
    if (bytes.size() < header)
        return "it is too short";
    if (std::memcmp(bytes.data(), magic, sizeof magic))
        return "it is no module of this version of zemm";
    const uint64_t key_size = number_at(bytes, 16), binary_size = number_at(bytes, 24);
    const size_t rest = bytes.size() - header;
    if (key_size > rest || binary_size > rest - key_size)
        return "it is damaged";
    result.size = header + key_size + binary_size;
    if (number_at(bytes, 8) != hash(bytes.subspan(16, result.size - 16), 0))
        return "it is damaged";
    result.key = {reinterpret_cast<const char *>(bytes.data()) + header, key_size};
    result.binary = bytes.subspan(header + key_size, binary_size);
    return "";
}

std::optional<std::vector<uint8_t>> load(const std::string &key) {
    const cache_folder &folder = the_state().folder;
    std::vector<uint8_t> entry;
    std::string why;
    const std::string name = file_name(key);
    if (folder.read(name, largest_entry, entry, why))
        why = problem_of(entry, key);
    else if (why.empty())
        return std::nullopt; // there is no such file
    if (!why.empty()) {
        warn_of_cache(
            text("%s is not used, the module is built: %s", folder.file(name).c_str(), why.c_str()));
        return std::nullopt;
    }
    entry.erase(entry.begin(), entry.begin() + ptrdiff_t(header + key.size()));
    return entry;
}

void store(const std::string &key, std::span<const uint8_t> binary) {
    if (binary.size() > largest_entry - header - key.size())
        return;
    const std::vector<uint8_t> entry = make_entry(key, binary);
    state &s = the_state();
    const std::lock_guard hold(s.lock);
    s.folder.write(file_name(key), entry);
}

} // namespace zemm::ze::disk_cache
