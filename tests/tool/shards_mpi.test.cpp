// SPDX-License-Identifier: MIT
// mpi_quantize: on three ranks, the bytes of tq quantize. The environment says how it is started.

#include "gguf_test.hpp"
#include "shards_test.hpp"

#include <cstdlib>

using namespace tool_test;

namespace {

Result run_ranks(const Folder& folder, const std::string& arguments) {
  const char* const command = std::getenv("TQ_TEST_MPI_QUANTIZE");
  REQUIRE(command != nullptr);
  const std::string out = folder("stdout"), err = folder("stderr");
  const int status = std::system(
      (std::string(command) + " " + arguments + " >'" + out + "' 2>'" + err + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

}  // namespace

TEST_CASE("ranks share the shards and write what one would", "[mpi]") {
  const Folder folder("mpi");
  const std::string in = folder("in"), out = folder("out/");
  std::vector<std::vector<Tensor>> shards = some_shards(5, 96);
  shards[4].push_back(tensor("large", {1024, 1024}));
  write_shards(in, shards);
  const std::string options = " --type int4 --group-size 32";
  const std::string both = "'" + in + "' '" + out + "'" + options;
  const std::string said =
      succeed({"quantize", in, folder("one/"), "--type", "int4", "--group-size", "32"});
  const auto one = contents(folder("one"));

  // A folder in the place of the largest shard ends the run of all ranks, when the other shards are
  // finished.
  fs::create_directories(out + "tq-unfinished/shards/" + shard_name(4, 5));
  const Result ended = run_ranks(folder, both);
  CHECK(ended.status != 0);
  CHECK(has(ended.err, "mpi_quantize: "));
  CHECK(has(ended.err, "expected a regular file or a free name"));
  CHECK(has(ended.err, "the same command goes on from there"));
  CHECK_FALSE(fs::exists(out + "model.safetensors.index.json"));
  CHECK(contents(out).contains("tq-unfinished/done/" + shard_name(0, 5) + ".json"));

  fs::remove(out + "tq-unfinished/shards/" + shard_name(4, 5));
  const Result all = run_ranks(folder, both + " --jobs 2");
  INFO(all.err);
  CHECK(all.status == 0);
  CHECK(contents(out) == one);
  CHECK(has(all.out, said));  // and that shards were finished before
  CHECK(has(all.out, "4 of 5 shards were finished by a run before this one."));

  // The whole work at once, more ranks than shards among it.
  fs::remove_all(out);
  write_shards(folder("small"), some_shards(2));
  CHECK(run_ranks(folder, both).out == said);
  CHECK(contents(out) == one);
  CHECK(run_ranks(folder, "'" + folder("small") + "' '" + folder("s/") + "'").status == 0);
  succeed({"quantize", folder("small"), folder("t/")});
  CHECK(contents(folder("s")) == contents(folder("t")));

  // All ranks refuse together, with one message.
  const Result again = run_ranks(folder, both);
  CHECK(again.status != 0);
  CHECK(has(again.err, "expected a free place for the output"));
  CHECK(has(run_ranks(folder, "'" + in + "' '" + folder("q.safetensors") + "'").err,
            "expected a folder or an .index.json, whose shards ranks can share"));
  CHECK(has(run_ranks(folder, "'" + folder("none") + "' '" + folder("u/") + "'").err, "none"));
  CHECK_FALSE(fs::exists(folder("u")));
  CHECK(contents(out) == one);
}

TEST_CASE("ranks share the parts of a GGUF file", "[mpi]") {
  const Folder folder("mpi_gguf");
  write_noise_gguf(folder("x.gguf"),
                   ffn_weights(5, 256, [](std::size_t i) { return 8 * (i + 1); }));
  const std::string said = succeed({"quantize", folder("x.gguf"), folder("one/y.gguf"), "--type",
                                    "q4_k", "--shard-size", "4000"});
  const std::string in = "'" + folder("x.gguf") + "' ", type = " --type q4_k";
  const Result all =
      run_ranks(folder, in + "'" + folder("out/y.gguf") + "' --shard-size 4000" + type);
  INFO(all.err);
  CHECK(all.status == 0);
  CHECK(all.out == said);
  CHECK(contents(folder("out")) == contents(folder("one")));
  const Result whole = run_ranks(folder, in + "'" + folder("y.gguf") + "'" + type);
  CHECK(whole.status != 0);
  CHECK(has(whole.err, "--shard-size: expected one, for parts that ranks can share, got none"));
}
