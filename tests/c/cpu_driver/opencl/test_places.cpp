// SPDX-License-Identifier: Apache-2.0
// Where the driver looks for the OpenCL runtime, and what it does not load from there. To be called
// as: test_places direct planted.so. Each case is a tree of folders, with copies of the driver and
// of a library that tells when it is loaded.
#include <filesystem>
#include <fstream>
#include <map>

#include <sys/stat.h>
#include <sys/xattr.h>

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

constexpr const char *in_environment = "env/lib/python3.11/site-packages/zemm";
const std::string not_found = "was not found";
constexpr uid_t stranger = 54321; // also the number of a group

/// A driver in an environment that has the runtime.
struct Environment : Tree {
    fs::path library = driver(in_environment), file = plant("env/lib"), lib = top / "env/lib",
             env = top / "env";
    /// Paths that lead to another runtime if others can write there.
    std::vector<fs::path> way() const { return {file, lib, env}; }
};

void set_mode(const fs::path &path, mode_t mode) {
    CHECK(chmod(path.c_str(), mode) == 0);
}
void set_owner(const fs::path &path, uid_t user, gid_t group) {
    CHECK(chown(path.c_str(), user, group) == 0);
}

/// A caller with a variable of the environment.
Caller with(const fs::path &library, const char *variable, const std::string &value,
            const fs::path &folder = {}) {
    return {library, {}, {}, folder, {{variable, value}}};
}

void environments() {
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
    for (const auto &[own, runtime] : cases) {
        const Tree tree;
        const fs::path library = tree.driver(own);
        expect_refused({library}, not_found);
        const fs::path file = tree.plant(runtime);
        expect_loaded({library}, file);
    }
    // The driver was opened by a relative path, and the current directory has changed since.
    const Environment e;
    expect_loaded({"./" + fs::path(in_environment).string() + "/libze_cpu.so", {}, {}, e.top}, e.file);
}

/// The place nearest to the driver wins. Folders above an environment are not searched: they may be
/// anybody's.
void order() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment), other = tree.plant("other/lib");
    const Caller caller = with(library, "VIRTUAL_ENV", tree.top / "other");
    expect_loaded(caller, other);
    const fs::path file = tree.plant("env/lib");
    expect_loaded(caller, file);
    const Tree above;
    above.plant("lib");
    above.plant("");
    for (const char *own : {in_environment, "env/lib/x86_64-linux-gnu", "a/b/c/d/zemm", "target/x/zemm"})
        expect_refused({above.driver(own)}, not_found);
}

void writable_by_all() {
    const Environment e;
    for (const fs::path &path : e.way())
        for (const mode_t mode : {0757, 0777, 01777}) {
            set_mode(path, mode);
            expect_refused({e.library}, path.string() + " is writable by all users");
            set_mode(path, 0755);
            expect_loaded({e.library}, e.file);
        }
    // On some file systems everybody may write to all files, also to the driver; then nothing is refused.
    const fs::path folder = e.library.parent_path();
    for (const fs::path &path : {e.file, e.lib, e.env, e.library})
        set_mode(path, 0777);
    expect_loaded({e.library}, e.file);
    set_mode(e.library, 0755);
    set_mode(folder, 0777);
    expect_loaded({e.library}, e.file);
    set_mode(folder, 01777);
    expect_refused({e.library}, "is writable by all users");
    for (const fs::path &path : {e.file, e.lib, folder})
        set_mode(path, 0755);
    // If the environment's runtime is refused, the next place is taken.
    const fs::path other = e.plant("other/lib");
    const Caller caller = with(e.library, "CONDA_PREFIX", e.top / "other");
    expect_loaded(caller, other);
    // The folder that the variable names is checked in the same way.
    set_mode(e.top / "other", 0777);
    expect_refused(caller, "/other is writable by all");
    // A file that the user names is loaded without these checks.
    expect_loaded(with(e.library, "ZE_CPU_OPENCL_LIBRARY", e.file), e.file);
}

/// A link in a trusted folder leads to a folder that must be trusted, too.
void links() {
    const Tree tree;
    const fs::path library = tree.driver(in_environment), file = tree.plant("shared/lib"),
                   link = tree.top / "env/lib/libintelocl.so";
    fs::create_symlink(file, link);
    expect_loaded({library}, link);
    set_mode(file.parent_path(), 0777);
    expect_refused({library}, "/shared/lib is writable by all users");
}

/// Files of other users and groups. Only root can make them.
void owners() {
    const Environment e;
    const fs::path folder = e.library.parent_path();
    for (const fs::path &path : e.way()) {
        const std::string of_group = path.string() + " is writable by group 54321";
        set_owner(path, stranger, 0);
        expect_refused({e.library}, path.string() + " belongs to user 54321");
        // The user's own group may write, as the umask 002 makes it.
        set_owner(path, 0, 0);
        set_mode(path, 0775);
        expect_loaded({e.library}, e.file);
        set_owner(path, 0, stranger);
        expect_refused({e.library}, of_group);
        // Those who may replace the driver may replace the runtime.
        set_owner(folder, 0, stranger);
        set_mode(folder, 0775);
        expect_loaded({e.library}, e.file);
        set_mode(folder, 01775);
        expect_refused({e.library}, of_group);
        set_mode(folder, 0755);
        set_mode(path, 0755);
        set_owner(path, 0, 0);
    }
    // The runtime and the driver that runs here belong to the same stranger, who has installed both.
    for (const fs::path &path : {e.file, e.lib, e.env, e.library})
        set_owner(path, stranger, stranger);
    expect_loaded({e.library}, e.file);
}

/// A list of users who may write, as setfacl makes it. The mode then looks like that of a private group.
void lists() {
    struct Entry {
        uint16_t tag, permissions;
        uint32_t id;
    };
    constexpr uint32_t nobody_else = ~0u;
    const struct {
        uint32_t version = 2;
        Entry entries[5] = {{1, 7, nobody_else},
                            {2, 7, stranger},
                            {4, 7, nobody_else},
                            {16, 7, nobody_else},
                            {32, 5, nobody_else}};
    } list;
    const Environment e;
    set_mode(e.lib, 0775);
    expect_loaded({e.library}, e.file);
    if (setxattr(e.lib.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0)
        expect_refused({e.library}, e.lib.string() + " is writable by those whom getfacl names");
    else
        std::puts("this file system has no lists");
}

/// Folders above an environment, and links on the way to it. Nobody may put another one in their place.
void the_way() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("above/venv/lib"),
                   above = tree.top / "above", link = tree.top / "links/link";
    fs::create_directories(link.parent_path());
    fs::create_symlink("../above/venv", link);
    const Caller by_path = with(library, "VIRTUAL_ENV", above / "venv"),
                 by_link = with(library, "VIRTUAL_ENV", link);
    const auto expect_both = [&](const std::string &problem) {
        for (const Caller &caller : {by_path, by_link})
            expect_refused(caller, problem);
    };
    const auto expect_loads = [&] {
        expect_loaded(by_path, file);
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
    set_owner(above, stranger, 0);
    expect_both("/above belongs to user 54321");
    // Who can put another folder in its place can do that with the driver, too.
    expect_loaded(with(tree.driver("above/zemm"), "VIRTUAL_ENV", above / "venv"), file);
    set_owner(above, 0, stranger);
    set_mode(above, 0775);
    expect_both("/above is writable by group 54321");
    set_mode(above, 0755);
    set_mode(link.parent_path(), 01777);
    CHECK(lchown(link.c_str(), stranger, stranger) == 0);
    expect_loaded(by_path, file);
    expect_refused(by_link, "/link belongs to user 54321");
}

/// The program's environment, by the name that the program was called by.
void program() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("venv/lib"),
                   copy = tree.copy(self, "venv/bin/program"), folder = tree.top / "venv";
    tree.plant("venv/bin/lib");
    fs::create_directories(folder / "other");
    expect_loaded({library, copy}, file);
    expect_loaded({library, copy, "bin/program", folder}, file);
    expect_loaded({library, copy, "./program", folder / "bin"}, file);
    expect_loaded({library, copy, "../bin/program", folder / "other"}, file);
    expect_loaded({library, copy, "program", "/", {{"PATH", "/usr/bin:" + (folder / "bin").string()}}}, file);
    // A virtual environment's program is a link out of it.
    const fs::path of_link = tree.plant("linked/lib"), link = tree.top / "linked/bin/program";
    fs::create_directories(link.parent_path());
    fs::create_symlink(copy, link);
    expect_loaded({library, link}, of_link);
    // Names that do not lead to the program, and a program that is not in a folder named bin.
    const fs::path another = tree.copy(driver_file, "venv2/bin/program");
    tree.plant("venv2/lib");
    expect_refused({library, self, another}, not_found);
    expect_refused({library, self, "bin/program", folder}, not_found);
    expect_refused({library, self, "program", folder / "bin", {{"PATH", "."}}}, not_found);
    expect_refused({library, tree.copy(self, "venv/program")}, not_found);
}

void variables() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("venv/lib");
    for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        expect_loaded(with(library, variable, tree.top / "venv"), file);
        expect_refused(with(library, variable, "venv", tree.top), not_found);
        expect_refused(with(library, variable, ""), not_found);
    }
}

/// The folders in which the dynamic linker looks, unless everybody may write there.
void library_path() {
    const Tree tree;
    const fs::path library = tree.driver("somewhere/zemm"), file = tree.plant("path/lib"),
                   folder = file.parent_path();
    const auto in = [&](const std::string &path) { return with(library, "LD_LIBRARY_PATH", path, folder); };
    for (const std::string &path : {folder.string(), "/nowhere:" + folder.string(), std::string(".")})
        expect_loaded(in(path), file); // ".": the current directory, which is the user's own
    for (const fs::path &path : {folder, folder.parent_path(), file}) {
        set_mode(path, fs::is_directory(path) ? 0777 : 0666);
        for (const std::string &named : {folder.string(), std::string("."), std::string(":/nowhere")})
            expect_refused(in(named), not_found);
        set_mode(path, 0755);
    }
    if (geteuid() == 0) {
        set_owner(folder, stranger, stranger);
        expect_loaded(in(folder), file); // chosen by the user
        expect_refused(in("."), not_found);
        set_owner(folder, 0, 0);
    }
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
    for (const auto test :
         {environments, order, writable_by_all, links, the_way, program, variables, library_path})
        test();
    if (geteuid() == 0)
        for (const auto test : {owners, lists})
            test();
}
