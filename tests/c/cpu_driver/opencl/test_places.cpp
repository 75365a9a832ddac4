// SPDX-License-Identifier: Apache-2.0
//
// Where the driver looks for the OpenCL runtime, and what it does not load from there. To be called
// as: test_places direct planted.so. Each case is a tree of folders, with copies of the driver and
// of a library that tells when it is loaded.
#include <filesystem>
#include <fstream>
#include <map>

#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ze_test.h"

namespace fs = std::filesystem;

namespace {

fs::path self, driver_file, planted;

// ---- the child process, in which the driver looks

/// Prints which planted library was loaded, and why the driver did not open.
int look(const char *path) {
    const UnopenedDriver driver(path);
    if (path[0] != '/') // leave the folder that the relative path begins in
        CHECK(chdir("/") == 0);
    driver.init(0);
    const char *loaded = std::getenv("PLANTED");
    std::printf("%s\n%s", loaded ? loaded : "", driver.why());
    return 0;
}

/// How the child process is called.
struct Caller {
    fs::path library;   // the driver that it opens
    fs::path program{}; // its file; if empty, this test's
    std::string name{}; // its argv[0]; if empty, the file's path
    fs::path folder{};  // its current directory; if empty, "/"
    std::map<std::string, std::string> variables{};
};

struct Answer {
    std::string loaded, reason;
};

Answer ask(const Caller &caller) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        for (const char *name : {"ZE_CPU_OPENCL_LIBRARY", "VIRTUAL_ENV", "CONDA_PREFIX", "PLANTED"})
            unsetenv(name);
        for (const auto &[name, value] : caller.variables)
            setenv(name.c_str(), value.c_str(), 1);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        const fs::path program = caller.program.empty() ? self : caller.program;
        const std::string name = caller.name.empty() ? program.string() : caller.name;
        if (chdir(caller.folder.empty() ? "/" : caller.folder.c_str()) == 0)
            execl(program.c_str(), name.c_str(), "look", caller.library.c_str(), nullptr);
        _exit(1);
    }
    close(ends[1]);
    std::string text;
    char part[512];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
        text.append(part, size_t(got));
    close(ends[0]);
    CHECK(wait_for(child) == 0);
    const size_t line = text.find('\n');
    CHECK(line != std::string::npos);
    return {text.substr(0, line), text.substr(line + 1)};
}

void expect_loaded(const Caller &caller, const fs::path &file) {
    const Answer answer = ask(caller);
    if (answer.loaded != file)
        std::printf("loaded \"%s\", not \"%s\": %s\n", answer.loaded.c_str(), file.c_str(),
                    answer.reason.c_str());
    CHECK(answer.loaded == file);
}

/// No planted library may be loaded, and `expected` must be part of the reason. There is no reason
/// if this machine has the runtime where it is found without the tree.
void expect_refused(const Caller &caller, const std::string &expected) {
    const Answer answer = ask(caller);
    if (!answer.loaded.empty() || answer.reason.find(expected) == std::string::npos)
        std::printf("loaded \"%s\", no \"%s\": %s\n", answer.loaded.c_str(), expected.c_str(),
                    answer.reason.c_str());
    CHECK(answer.loaded.empty());
    CHECK(answer.reason.empty() || answer.reason.find(expected) != std::string::npos);
}

// ---- trees

struct Tree {
    Tree() {
        char name[] = "/tmp/zemm-places-XXXXXX";
        CHECK(mkdtemp(name));
        top = name;
    }
    ~Tree() { fs::remove_all(top); }

    fs::path copy(const fs::path &from, const fs::path &to) const {
        const fs::path file = top / to;
        fs::create_directories(file.parent_path());
        fs::copy_file(from, file);
        CHECK(chmod(file.c_str(), 0755) == 0);
        return file;
    }
    fs::path driver(const fs::path &folder) const { return copy(driver_file, folder / "libze_cpu.so"); }
    fs::path plant(const fs::path &folder) const { return copy(planted, folder / "libintelocl.so"); }

    fs::path top;
};

void set_mode(const fs::path &path, mode_t mode) {
    CHECK(chmod(path.c_str(), mode) == 0);
}

constexpr const char *in_environment = "env/lib/python3.11/site-packages/zemm";
const std::string not_found = "was not found";

void test_environments() {
    const std::pair<const char *, const char *> cases[] = {
        {in_environment, "env/lib"},
        {"env/lib64/python3.12/site-packages/zemm", "env/lib"},
        {"usr/local/lib/python3.11/dist-packages/zemm", "usr/local/lib"},
        {"usr/lib/python3/dist-packages/zemm", "usr/lib"},
        {"prefix/lib/x86_64-linux-gnu", "prefix/lib"},
        {"prefix/lib64", "prefix/lib"},
        {"prefix/lib", "prefix/lib"},
        {"target/zemm", "target/lib"},
        {"target/zemm", "target"},
        {"bundle", "bundle"},
    };
    for (auto [own, runtime] : cases) {
        const Tree tree;
        const fs::path library = tree.driver(own);
        expect_refused({library}, not_found);
        const fs::path file = tree.plant(runtime);
        expect_loaded({library}, file);
    }
}

/// The place nearest to the driver wins.
void test_order() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment);
    tree.plant("other/lib");
    const std::map<std::string, std::string> variables = {{"VIRTUAL_ENV", tree.top / "other"}};
    expect_loaded({library, {}, {}, {}, variables}, tree.top / "other/lib/libintelocl.so");
    const fs::path file = tree.plant("env/lib");
    expect_loaded({library, {}, {}, {}, variables}, file);
}

/// Folders above an environment are not searched: they may be anybody's.
void test_above() {
    const Tree tree;
    tree.plant("lib");
    tree.plant("");
    for (const char *own : {in_environment, "env/lib/x86_64-linux-gnu", "a/b/c/d/zemm", "target/x/zemm"})
        expect_refused({tree.driver(own)}, not_found);
}

void test_writable_by_all() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("env/lib"),
                   env = tree.top / "env";
    for (const fs::path &path : {file, env / "lib", env})
        for (mode_t mode : {0757, 0777, 01777}) {
            set_mode(path, mode);
            expect_refused({library}, path.string() + " is writable by all users");
            set_mode(path, 0755);
            expect_loaded({library}, file);
        }
    // On some file systems everybody may write to all files, also to the driver; then nothing is
    // refused.
    for (const fs::path &path : {file, env / "lib", env, library})
        set_mode(path, 0777);
    expect_loaded({library}, file);
    set_mode(library, 0755);
    set_mode(library.parent_path(), 0777);
    expect_loaded({library}, file);
    set_mode(library.parent_path(), 01777);
    expect_refused({library}, "is writable by all users");
    for (const fs::path &path : {file, env / "lib", library.parent_path()})
        set_mode(path, 0755);
    // If the environment's runtime is refused, the next place is taken.
    set_mode(env, 0777);
    const fs::path other = tree.plant("other/lib");
    expect_loaded({library, {}, {}, {}, {{"CONDA_PREFIX", tree.top / "other"}}}, other);
    // What the variable names is looked at in the same way.
    set_mode(tree.top / "other", 0777);
    expect_refused({library, {}, {}, {}, {{"CONDA_PREFIX", tree.top / "other"}}},
                   "/other is writable by all");
    // A file that the user names is loaded without these checks.
    expect_loaded({library, {}, {}, {}, {{"ZE_CPU_OPENCL_LIBRARY", file}}}, file);
}

/// A link in a trusted folder leads to a folder that must be trusted, too.
void test_links() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("shared/lib");
    fs::create_symlink(file, tree.top / "env/lib/libintelocl.so");
    expect_loaded({library}, tree.top / "env/lib/libintelocl.so");
    set_mode(tree.top / "shared/lib", 0777);
    expect_refused({library}, "/shared/lib is writable by all users");
}

void set_owner(const fs::path &path, uid_t user, gid_t group) {
    CHECK(chown(path.c_str(), user, group) == 0);
}

/// Files of other users. Only root can make them.
void test_owners() {
    if (geteuid() != 0)
        return;
    constexpr uid_t stranger = 54321;
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("env/lib"),
                   env = tree.top / "env";
    for (const fs::path &path : {file, env / "lib", env}) {
        set_owner(path, stranger, 0);
        expect_refused({library}, path.string() + " belongs to user 54321");
        set_owner(path, 0, 0);
    }
    // The runtime and the driver that runs here belong to the same stranger, who has installed
    // both.
    for (const fs::path &path : {file, env / "lib", env, library})
        set_owner(path, stranger, stranger);
    expect_loaded({library}, file);
}

void test_groups() {
    if (geteuid() != 0)
        return;
    constexpr gid_t team = 54321;
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("env/lib"),
                   env = tree.top / "env";
    for (const fs::path &path : {file, env / "lib", env}) {
        // The user's own group may write, as the umask 002 makes it.
        set_mode(path, 0775);
        expect_loaded({library}, file);
        set_owner(path, 0, team);
        expect_refused({library}, path.string() + " is writable by group 54321");
        // Those who may replace the driver may replace the runtime.
        set_owner(library.parent_path(), 0, team);
        set_mode(library.parent_path(), 0775);
        expect_loaded({library}, file);
        set_mode(library.parent_path(), 01775);
        expect_refused({library}, path.string() + " is writable by group 54321");
        set_mode(library.parent_path(), 0755);
        set_mode(path, 0755);
    }
}

/// A list of users who may write, as setfacl makes it. The mode then looks like that of a private group.
void test_lists() {
    if (geteuid() != 0)
        return;
    struct Entry {
        uint16_t tag, permissions;
        uint32_t id;
    };
    constexpr uint32_t nobody_else = ~0u;
    const struct {
        uint32_t version = 2;
        Entry entries[5] = {{1, 7, nobody_else},
                            {2, 7, 54321},
                            {4, 7, nobody_else},
                            {16, 7, nobody_else},
                            {32, 5, nobody_else}};
    } list;
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("env/lib"),
                   folder = file.parent_path();
    set_mode(folder, 0775);
    expect_loaded({library}, file);
    if (setxattr(folder.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
        std::puts("this file system has no lists");
        return;
    }
    expect_refused({library}, folder.string() + " is writable by those whom getfacl names");
}

/// Folders above an environment, and links on the way to it. Nobody may put another one in their place.
void test_the_way() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("above/venv/lib"),
                   above = tree.top / "above", link = tree.top / "links/link";
    fs::create_directories(link.parent_path());
    fs::create_symlink("../above/venv", link);
    const Caller direct{library, {}, {}, {}, {{"VIRTUAL_ENV", above / "venv"}}},
        by_link{library, {}, {}, {}, {{"VIRTUAL_ENV", link}}};
    const auto expect_both = [&](const std::string &problem) {
        for (const Caller &caller : {direct, by_link})
            expect_refused(caller, problem);
    };
    const auto expect_loads = [&] {
        expect_loaded(direct, file);
        expect_loaded(by_link, link / "lib/libintelocl.so");
    };
    expect_loads();
    set_mode(above, 0777);
    expect_both("/above is writable by all users");
    set_mode(above, 01777); // as /tmp: the environment in it is ours
    expect_loads();
    set_mode(above, 0755);
    if (geteuid() != 0)
        return;
    constexpr uid_t stranger = 54321;
    set_owner(above, stranger, 0);
    expect_both("/above belongs to user 54321");
    // Who can put another folder in its place can do that with the driver, too.
    expect_loaded({tree.driver("above/zemm"), {}, {}, {}, {{"VIRTUAL_ENV", above / "venv"}}}, file);
    set_owner(above, 0, stranger);
    set_mode(above, 0775);
    expect_both("/above is writable by group 54321");
    set_mode(above, 0755);
    set_mode(link.parent_path(), 01777);
    CHECK(lchown(link.c_str(), stranger, stranger) == 0);
    expect_loaded(direct, file);
    expect_refused(by_link, "/link belongs to user 54321");
}

/// The program's environment, by the name that the program was called by.
void test_program() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("venv/lib");
    const fs::path program = tree.copy(self, "venv/bin/program"), folder = tree.top / "venv";
    tree.plant("venv/bin/lib");
    fs::create_directories(tree.top / "venv/other");
    expect_loaded({library, program}, file);
    expect_loaded({library, program, "bin/program", folder}, file);
    expect_loaded({library, program, "./program", folder / "bin"}, file);
    expect_loaded({library, program, "../bin/program", folder / "other"}, file);
    expect_loaded({library, program, "program", "/", {{"PATH", "/usr/bin:" + (folder / "bin").string()}}},
                  file);
    // A virtual environment's program is a link out of it.
    const fs::path of_link = tree.plant("linked/lib");
    fs::create_directories(tree.top / "linked/bin");
    fs::create_symlink(program, tree.top / "linked/bin/program");
    expect_loaded({library, tree.top / "linked/bin/program"}, of_link);
    // Names that do not lead to the program.
    tree.copy(driver_file, "venv2/bin/program");
    tree.plant("venv2/lib");
    expect_refused({library, self, tree.top / "venv2/bin/program"}, not_found);
    expect_refused({library, self, "bin/program", folder}, not_found);
    expect_refused({library, self, "program", folder / "bin", {{"PATH", "."}}}, not_found);
    // A program that is not in a folder named bin.
    expect_refused({library, tree.copy(self, "venv/program")}, not_found);
}

void test_variables() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("venv/lib");
    for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        expect_loaded({library, {}, {}, {}, {{variable, tree.top / "venv"}}}, file);
        expect_refused({library, {}, {}, tree.top, {{variable, "venv"}}}, not_found);
        expect_refused({library, {}, {}, {}, {{variable, ""}}}, not_found);
    }
}

/// The folders in which the dynamic linker looks, unless everybody may write there.
void test_library_path() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("path/lib"),
                   folder = file.parent_path();
    const auto with = [&](const std::string &path) {
        return Caller{library, {}, {}, folder, {{"LD_LIBRARY_PATH", path}}};
    };
    expect_loaded(with(folder), file);
    expect_loaded(with("/nowhere:" + folder.string()), file);
    expect_loaded(with("."), file); // the current directory, which is the user's own
    for (const fs::path &path : {folder, folder.parent_path(), file}) {
        const mode_t mode = fs::is_directory(path) ? 0777 : 0666;
        set_mode(path, mode);
        for (const std::string &named : {folder.string(), std::string("."), std::string(":/nowhere")})
            expect_refused(with(named), not_found);
        set_mode(path, 0755);
    }
    if (geteuid() == 0) {
        set_owner(folder, 54321, 54321);
        expect_loaded(with(folder), file); // chosen by the user
        expect_refused(with("."), not_found);
        set_owner(folder, 0, 0);
    }
}

/// The driver was opened by a relative path, and the current directory has changed since.
void test_relative_driver() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("env/lib");
    expect_loaded({"./" + fs::path(in_environment).string() + "/libze_cpu.so", {}, {}, tree.top}, file);
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && std::string(argv[1]) == "look")
        return look(argv[2]);
    CHECK(argc == 3);
    umask(022);
    self = fs::canonical("/proc/self/exe");
    driver_file = std::getenv("ZE_CPU_TEST_LIBRARY");
    planted = argv[2];
    test_environments();
    test_order();
    test_above();
    test_writable_by_all();
    test_links();
    test_owners();
    test_groups();
    test_lists();
    test_the_way();
    test_program();
    test_variables();
    test_relative_driver();
    test_library_path();
    std::puts("ok");
}
