// SPDX-License-Identifier: Apache-2.0
// The list behind the caches of modules and primitives: which entries stay, and in which order they
// leave.
#include <memory>
#include <string>

#include "common/lru.hpp"
#include "same.hpp"

namespace {

using list = zemm::lru<std::shared_ptr<int>>;

// The values of the keys, "-" for a key without one. Reading uses the keys in turn, so the last one
// becomes the newest.
std::string values(list &entries, const std::string &keys) {
    std::string text;
    for (const char key : keys) {
        const std::shared_ptr<int> *found = entries.find(std::string(1, key));
        text += found ? std::to_string(**found) : "-";
    }
    return text;
}

list of_three() {
    list entries;
    for (int i = 1; i <= 3; ++i)
        SAME(std::to_string(*entries.add(std::string(1, char('a' + i - 1)), std::make_shared<int>(i))),
             std::to_string(i));
    return entries;
}

void order() {
    list entries = of_three();
    SAME(values(entries, "abcd"), "123-");
    entries = of_three();
    entries.find("a"); // now b is the oldest
    entries.shrink(2);
    SAME(values(entries, "abc"), "1-3");
    entries.add("d", std::make_shared<int>(4)); // a was used earlier than c
    entries.shrink(2);
    SAME(values(entries, "abcd"), "--34");
    entries.shrink(2);
    SAME(values(entries, "cd"), "34");
    entries.shrink(0);
    SAME(values(entries, "abcd"), "----");
    entries.add("a", std::make_shared<int>(5)); // a removed key may be added again
    SAME(values(entries, "a"), "5");
}

void taken() {
    list entries = of_three();
    const std::weak_ptr<int> watched = *entries.find("b");
    {
        const auto odd = entries.take_if([](const auto &value) { return *value % 2 != 0; });
        SAME(std::to_string(odd.size()), "2");
        SAME(values(entries, "abc"), "-2-");
        SAME(std::to_string(entries.take_if([](const auto &) { return false; }).size()), "0");
    }
    SAME(values(entries, "b"), "2");
    entries.shrink(0);
    SAME(watched.expired() ? "gone" : "there", "gone");
}

} // namespace

int main() {
    order();
    taken();
}
