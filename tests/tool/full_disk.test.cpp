// SPDX-License-Identifier: MIT
// A file system that is full.
#include "shards_test.hpp"

namespace {

using namespace tool_test;

TEST_CASE("a full file system leaves no trace and keeps what was there") {
  const Folder folder("full_disk");
  const std::string in = folder("m.safetensors"), disk = folder("disk"), said = folder("said");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {512, 256})});
  fs::create_directory(disk);
  const std::string mount = "mount -t tmpfs -o size=64k tmpfs '" + disk + "'";
  // A mount of one's own, which ends with the shell.
  const auto alone = [](const std::string& script) {
    return std::system(("unshare --mount sh -c \"" + script + "\" 2>/dev/null").c_str());
  };
  if (alone(mount) != 0) {
    WARN(
        "this process may not mount a file system: only the file size limit of refuse.test.cpp was "
        "tested");
    return;
  }
  const int status =
      alone("set -e; " + mount + "; cd '" + disk + "'; printf old >q.safetensors; code=0; '" +
            tool_test::program + "' quantize '" + in + "' q.safetensors --overwrite 2>'" + said +
            "' || code=\\$?; printf '%s ' \\$code >'" + said + ".state'; ls -A | tr '\\n' ' ' >>'" +
            said + ".state'; cat q.safetensors >>'" + said + ".state'");
  CHECK(status == 0);
  CHECK(content(said + ".state") == "1 q.safetensors old");
  CHECK(has(content(said), "q.safetensors"));
  CHECK(has(content(said), "No space left"));
}

TEST_CASE("a full disk keeps the shards that are finished, and a disk that is read only nothing") {
  const Folder folder("full_shards");
  const std::string in = folder("in"), disk = folder("disk"), said = folder("said");
  std::vector<std::vector<Tensor>> shards = some_shards(2);
  shards[1].push_back(tensor("large", {512, 512}));
  write_shards(in, shards);
  succeed({"quantize", in, folder("whole/")});
  fs::create_directory(disk);
  const auto alone = [](const std::string& script) {
    return std::system(("unshare --mount sh -c \"" + script + "\" 2>/dev/null").c_str());
  };
  const std::string mount = "mount -t tmpfs -o size=160k tmpfs '" + disk + "'";
  if (alone(mount) != 0) {
    WARN(
        "this process may not mount a file system: only the file size limit of resume.test.cpp was "
        "tested");
    return;
  }
  const std::string command = std::string("'") + tool_test::program + "' quantize '" + in + "' '" +
                              disk + "/out/' >>'" + said + "' 2>&1";
  const std::string remount = "mount -o remount,";
  const int status =
      alone("set -e; " + mount + "; cd '" + disk + "'; code=0; " + command + " || code=\\$?; " +
            "printf '%s ' \\$code >'" + said +
            ".state'; ls out/tq-unfinished/shards out/tq-unfinished/done | tr '\\n' ' ' >>'" +
            said + ".state'; " + remount + "ro '" + disk + "'; code=0; " + command +
            " || code=\\$?; printf '%s ' \\$code >>'" + said + ".state'; " + remount +
            "rw,size=4m '" + disk + "'; " + command + "; cp -r out '" + folder("out") + "'");
  CHECK(status == 0);
  CHECK(has(content(said), "No space left"));
  CHECK(has(content(said), "Read-only file system"));
  CHECK(has(content(said), "1 of 2 shards were finished by a run before this one."));
  const std::string state = content(said + ".state");
  CHECK(state.starts_with("1 "));
  CHECK(state.ends_with("1 "));
  CHECK(has(state, shard_name(0, 2) + ".json"));
  CHECK_FALSE(has(state, shard_name(1, 2)));
  CHECK_FALSE(has(state, ".tmp"));
  CHECK(contents(folder("out")) == contents(folder("whole")));
}

}  // namespace
