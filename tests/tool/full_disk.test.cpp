// SPDX-License-Identifier: MIT
// A file system that is full.
#include "tool_test.hpp"

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
    WARN("this process may not mount a file system: only the file size limit of refuse.test.cpp was tested");
    return;
  }
  const int status =
      alone("set -e; " + mount + "; cd '" + disk + "'; printf old >q.safetensors; code=0; '" +
            tool_test::program + "' quantize '" + in + "' q.safetensors 2>'" + said + "' || code=\\$?; printf '%s ' \\$code >'" + said +
            ".state'; ls -A | tr '\\n' ' ' >>'" + said + ".state'; cat q.safetensors >>'" + said + ".state'");
  CHECK(status == 0);
  CHECK(content(said + ".state") == "1 q.safetensors old");
  CHECK(has(content(said), "q.safetensors"));
  CHECK(has(content(said), "No space left"));
}

}  // namespace
