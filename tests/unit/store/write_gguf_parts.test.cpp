// SPDX-License-Identifier: MIT
// GGUF models that are written in parts.
#include <tq/containers/gguf_parts.hpp>
#include <tq/containers/gguf_writer.hpp>
#include <tq/store/detail/gguf_shards.hpp>
#include <tq/store/stored_model.hpp>
#include <tq/store/stored_model.ipp>
#include <tq/store/team.hpp>
#include <tq/store/write_gguf.hpp>
#include <tq/store/write_gguf.ipp>

#include <barrier>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/error_check.hpp"
#include "unit/containers/gguf_bytes.hpp"
#include "unit/files/io_test.hpp"

using namespace tq;
using namespace io_test;
using gguf_test::Bytes;
namespace gguf = layouts::gguf;

namespace {

using Small = BasicStoredModel<TypeList<int4, int8>, TypeList<float>>;

// Float tensors of 128, 2048, 1024, 512, 8192 and 32 bytes.
void write_input(const fs::path& path, std::vector<io::GgufEntry> entries = {
                                           {"general.architecture", std::string("llama")}}) {
  const std::vector<io::GgufTensorDecl> tensors{
      {"output_norm.weight", gguf::Type::f32, {32}},
      {"blk.0.ffn_up.weight", gguf::Type::f32, {16, 32}},
      {"blk.0.ffn_gate.weight", gguf::Type::f32, {8, 32}},
      {"blk.0.ffn_norm.weight", gguf::Type::f32, {128}},
      {"blk.0.ffn_down.weight", gguf::Type::f32, {64, 32}},
      {"blk.1.ffn_norm.weight", gguf::Type::f32, {8}}};
  io::GgufWriter writer(path, entries, tensors);
  std::mt19937 random(3);
  for (const io::GgufTensor& t : writer.order()) {
    std::vector<float> x(static_cast<std::size_t>(t.size_bytes) / sizeof(float));
    for (float& v : x) v = static_cast<float>(random()) * 0x1p-31f - 1.0f;
    writer.append(t.name, std::as_bytes(std::span(x)));
  }
  writer.finish();
}

GgufOptions in_parts(std::uint64_t size) {
  GgufOptions options;
  options.type = "q8_0";
  options.shard_size = size;
  return options;
}

GgufReport write(const fs::path& out, const fs::path& in, const GgufOptions& options) {
  return write_gguf<Small>(out, in, options);
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[fs::relative(entry.path(), folder).string()] = slurp(entry.path());
  return files;
}

std::vector<std::vector<std::string>> tensors_of(const fs::path& first) {
  std::vector<std::vector<std::string>> names;
  const io::GgufParts parts = io::GgufParts::open(first);
  for (const io::GgufReader& file : parts.files()) {
    names.emplace_back();
    for (const io::GgufTensor& t : file.tensors()) names.back().push_back(t.name);
  }
  return names;
}

// Ranks that are threads.
class Threads {
 public:
  explicit Threads(std::size_t count)
      : texts_(count), arrived_(static_cast<std::ptrdiff_t>(count)) {}

  // Calls f(team) on every rank; what each threw, or empty.
  template <class F>
  std::vector<std::string> run(F&& f) {
    std::vector<std::string> errors(texts_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < texts_.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          f(Rank(*this, i));
        } catch (const tq::error& e) {
          errors[i] = e.what();
        }
      });
    for (std::thread& t : threads) t.join();
    return errors;
  }

 private:
  class Rank : public store::Team {
   public:
    Rank(Threads& all, std::size_t rank) : all_(all), rank_(rank) {}
    [[nodiscard]] std::size_t rank() const override { return rank_; }
    [[nodiscard]] std::size_t size() const override { return all_.texts_.size(); }
    [[nodiscard]] std::vector<std::string> gather(const std::string& mine) const override {
      all_.texts_[rank_] = mine;
      all_.arrived_.arrive_and_wait();
      std::vector<std::string> texts = all_.texts_;
      all_.arrived_.arrive_and_wait();
      return texts;
    }

   private:
    Threads& all_;
    std::size_t rank_;
  };

  std::vector<std::string> texts_;
  std::barrier<> arrived_;
};

}  // namespace

TEST_CASE("a model in parts has the tensors that llama-gguf-split gives each part") {
  const TempDir dir;
  write_input(dir / "in.gguf");
  // As q8_0 the tensors have 128, 544, 272, 512, 2176 and 32 bytes, all multiples of 32 but 272.
  const GgufReport report = write(dir / "out.gguf", dir / "in.gguf", in_parts(1000));
  CHECK(report.shards == 4);
  CHECK(report.reused_shards == 0u);
  CHECK(report.file == dir / "out-00001-of-00004.gguf");
  CHECK(report.tensors.size() == 6);
  CHECK(tensors_of(report.file) ==
        std::vector<std::vector<std::string>>{
            {"output_norm.weight", "blk.0.ffn_up.weight", "blk.0.ffn_gate.weight"},
            {"blk.0.ffn_norm.weight"},
            {"blk.0.ffn_down.weight"},
            {"blk.1.ffn_norm.weight"}});
  // 128 + 544 + 288 bytes are just enough for the first three.
  CHECK(write(dir / "a.gguf", dir / "in.gguf", in_parts(960)).shards == 4);
  CHECK(tensors_of(dir / "a-00001-of-00004.gguf")[0].size() == 3);
  CHECK(write(dir / "b.gguf", dir / "in.gguf", in_parts(959)).shards == 4);
  CHECK(tensors_of(dir / "b-00001-of-00004.gguf")[0].size() == 2);
  CHECK(write(dir / "c.gguf", dir / "in.gguf", in_parts(1)).shards == 6);
  CHECK(write(dir / "d.gguf", dir / "in.gguf", in_parts(1 << 20)).file ==
        dir / "d-00001-of-00001.gguf");
  CHECK(tensors_of(dir / "d-00001-of-00001.gguf")[0].size() == 6);

  // The bytes of every tensor are those of one file.
  GgufOptions whole = in_parts(0);
  const GgufReport one = write(dir / "one.gguf", dir / "in.gguf", whole);
  CHECK(one.shards == 1);
  CHECK_FALSE(one.reused_shards);
  const auto expected = io::GgufReader::open(dir / "one.gguf");
  for (const char* const first :
       {"out-00001-of-00004.gguf", "c-00001-of-00006.gguf", "d-00001-of-00001.gguf"}) {
    const io::GgufParts parts = io::GgufParts::open(dir / first);
    for (const io::GgufReader& file : parts.files())
      for (const io::GgufTensor& t : file.tensors())
        CHECK(file.read_bytes(t.name) == expected.read_bytes(t.name));
  }
  CHECK(contents(dir.path()).size() == 21);
}

TEST_CASE("the parts of a model have the bytes of llama-gguf-split") {
  const TempDir dir;
  write_input(dir / "in.gguf", {{"general.architecture", std::string("llama")},
                                {"split.count", std::uint16_t{0}},
                                {"mine", std::int8_t{-3}}});
  static_cast<void>(write(dir / "x.gguf", dir / "in.gguf", in_parts(900)));
  const auto one = io::GgufReader::open(dir / "in.gguf");
  const auto bytes = [&](const std::string& name) {
    const std::vector<std::byte> raw = one.read_bytes(name);
    return std::string(reinterpret_cast<const char*>(raw.data()), raw.size());
  };
  // The last part, of a norm that is copied: three keys, of types uint16, uint16 and int32.
  Bytes last;
  last.header(1, 3);
  last.text("split.no").u32(2).number(std::uint16_t{3});
  last.text("split.count").u32(2).number(std::uint16_t{4});
  last.text("split.tensors.count").u32(5).number(std::int32_t{6});
  last.tensor("blk.1.ffn_norm.weight", {8}, 0, 0).pad().raw(bytes("blk.1.ffn_norm.weight")).pad();
  CHECK(slurp(dir / "x-00004-of-00004.gguf") == last.str());
  // The first part has the keys of the model before its own.
  const auto first = io::GgufReader::open(dir / "x-00001-of-00004.gguf");
  std::vector<std::string> keys;
  for (const io::GgufEntry& entry : first.entries()) keys.push_back(entry.name);
  CHECK(keys == std::vector<std::string>{"general.architecture", "mine", "tokenizer.ggml.model",
                                         "general.quantization_version", "general.file_type",
                                         "split.no", "split.count", "split.tensors.count"});
  CHECK(*first.find_value("split.no") == io::GgufValue(std::uint16_t{0}));
}

TEST_CASE("all parts have the alignment of the model") {
  const TempDir dir;
  write_input(dir / "in.gguf", {{"general.architecture", std::string("llama")},
                                {"general.alignment", std::uint32_t{128}}});
  static_cast<void>(write(dir / "x.gguf", dir / "in.gguf", in_parts(1)));
  const io::GgufParts parts = io::GgufParts::open(dir / "x-00001-of-00006.gguf");
  for (const io::GgufReader& file : parts.files()) CHECK(file.alignment() == 128);
  // A model without tensors has one part.
  io::GgufWriter(dir / "none.gguf", std::vector<io::GgufEntry>{}, {}).finish();
  CHECK(write(dir / "y.gguf", dir / "none.gguf", in_parts(1)).shards == 1);
  CHECK(io::GgufParts::open(dir / "y-00001-of-00001.gguf").files()[0].tensors().empty());
}

TEST_CASE("threads and ranks write the parts that one writes") {
  const TempDir dir;
  write_input(dir / "in.gguf");
  fs::create_directories(dir / "one");
  static_cast<void>(write(dir / "one/x.gguf", dir / "in.gguf", in_parts(700)));
  const auto expected = contents(dir / "one");
  CHECK(expected.size() == 5);
  GgufOptions options = in_parts(700);
  options.jobs = 3;
  static_cast<void>(write(dir / "three/x.gguf", dir / "in.gguf", options));
  CHECK(contents(dir / "three") == expected);
  for (const std::size_t count : {std::size_t{2}, std::size_t{7}}) {
    const fs::path folder = dir / ("ranks" + std::to_string(count));
    const auto errors = Threads(count).run([&](const store::Team& team) {
      GgufOptions shared = in_parts(700);
      shared.team = &team;
      static_cast<void>(write(folder / "x.gguf", dir / "in.gguf", shared));
    });
    CHECK(errors == std::vector<std::string>(count));
    CHECK(contents(folder) == expected);
  }
  // Ranks have nothing to share in one file, and fail together.
  const auto refused = Threads(2).run([&](const store::Team& team) {
    GgufOptions shared = in_parts(0);
    shared.team = &team;
    static_cast<void>(write(dir / "y.gguf", dir / "in.gguf", shared));
  });
  for (const std::string& text : refused)
    CHECK(text.find("`shard_size`: expected one, for parts that ranks") != text.npos);
  const auto failed = Threads(2).run([&](const store::Team& team) {
    GgufOptions shared = in_parts(700);
    shared.team = &team;
    static_cast<void>(write(dir / "one/x.gguf", dir / "in.gguf", shared));
  });
  for (const std::string& text : failed)
    CHECK(text.find("x-00001-of-00005.gguf: expected a free place") != text.npos);
  CHECK(contents(dir / "one") == expected);
}

TEST_CASE("parts that are finished are kept for the same command") {
  const TempDir dir;
  write_input(dir / "in.gguf");
  static_cast<void>(write(dir / "whole/x.gguf", dir / "in.gguf", in_parts(700)));
  const auto expected = contents(dir / "whole");
  const fs::path out = dir / "out/x.gguf", first = dir / "out/x-00001-of-00005.gguf",
                 kept = dir / "out/tq-unfinished/shards/x-00001-of-00005.gguf";
  GgufOptions ended = in_parts(700);
  ended.progress = [](std::uint64_t done, std::uint64_t) {
    if (done > 1000) raise(errc::io_failure, "ended");
  };
  const auto end_early = [&] {
    test::raises(errc::io_failure, {"ended", "the same command goes on from there"},
                 [&] { static_cast<void>(write(out, dir / "in.gguf", ended)); });
    CHECK_FALSE(fs::exists(first));
    REQUIRE(fs::exists(kept));
  };
  end_early();
  const auto other = [&](const GgufOptions& options, const char* text) {
    test::raises(errc::bad_argument, {text, "`overwrite` replaces it"},
                 [&] { static_cast<void>(write(out, dir / "in.gguf", options)); });
  };
  other(in_parts(800), "with other options");
  GgufOptions by_ggml = in_parts(700);
  by_ggml.method = GgufMethod::ggml;
  other(by_ggml, "with other options");
  fs::create_hard_link(kept, dir / "link");
  GgufOptions again = in_parts(700);
  std::string changed;
  again.on_restart = [&](const std::string& text) { changed = text; };
  CHECK(write(out, dir / "in.gguf", again).reused_shards == 3u);
  CHECK(fs::equivalent(first, dir / "link"));
  CHECK(contents(dir / "out") == expected);
  CHECK(changed.empty());
  // The parts of a model are replaced on request only, all of them at the end.
  other(again, "x-00001-of-00005.gguf: expected a free place for the output, got a file");
  again.overwrite = ended.overwrite = true;
  test::raises(errc::io_failure, {"ended"},
               [&] { static_cast<void>(write(out, dir / "in.gguf", ended)); });
  CHECK(fs::exists(first));
  CHECK(write(out, dir / "in.gguf", again).reused_shards == 3u);
  CHECK(contents(dir / "out") == expected);

  // If the input has changed, all parts are made anew: keys are looked at one by one.
  fs::remove_all(dir / "out");
  again.overwrite = ended.overwrite = false;
  end_early();
  write_input(dir / "in.gguf", {{"general.architecture", std::string("Llama")}});
  CHECK(write(out, dir / "in.gguf", again).reused_shards == 0u);
  CHECK(changed.find("in.gguf (content") != changed.npos);
}

TEST_CASE("a run that was ended while it moved its parts is continued") {
  const TempDir dir;
  write_input(dir / "in.gguf");
  static_cast<void>(write(dir / "whole/x.gguf", dir / "in.gguf", in_parts(700)));
  const auto expected = contents(dir / "whole");
  GgufOptions ended = in_parts(700);
  ended.progress = [](std::uint64_t done, std::uint64_t all) {
    if (done == all) raise(errc::io_failure, "ended");
  };
  const fs::path out = dir / "out", work = out / "tq-unfinished";
  test::raises(errc::io_failure, {"ended"},
               [&] { static_cast<void>(write(out / "x.gguf", dir / "in.gguf", ended)); });
  spill(work / "moving", "");
  for (const char* const moved : {"x-00002-of-00005.gguf", "x-00003-of-00005.gguf"})
    fs::rename(work / "shards" / moved, out / moved);
  CHECK(write(out / "x.gguf", dir / "in.gguf", in_parts(700)).reused_shards == 5u);
  CHECK(contents(out) == expected);
}

TEST_CASE("parts that would replace the input, or be too many, are refused") {
  const TempDir dir;
  write_input(dir / "in.gguf");
  static_cast<void>(write(dir / "x.gguf", dir / "in.gguf", in_parts(700)));
  const auto before = contents(dir.path());
  GgufOptions options = in_parts(700);
  options.requantize = options.overwrite = true;
  test::raises(errc::bad_argument, {"`out`: expected another file than `in`"}, [&] {
    static_cast<void>(write(dir / "x.gguf", dir / "x-00001-of-00005.gguf", options));
  });
  CHECK(contents(dir.path()) == before);
  store::detail::GgufItem item;
  item.to = {"w", {1}};
  const std::vector<store::detail::GgufJob> jobs(65536, {&item, gguf::Type::f32, {}, {}});
  test::raises(errc::bad_argument,
               {"`shard_size`: expected a size for at most 65535 parts", "65536"},
               [&] { static_cast<void>(store::detail::gguf_shards("x.gguf", {}, jobs, 32)); });
  CHECK(store::detail::gguf_shards("x.gguf", {}, jobs, 64).size() == 32768);
}
