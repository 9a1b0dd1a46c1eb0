// SPDX-License-Identifier: MIT
// All types that the headers define have names: the list is read from the headers' text, so that no
// new type is forgotten.
#include <tq/scheme/named_schemes.hpp>
#include <tq/scheme/type_list.hpp>
#include <tq/scheme/visit.hpp>

#include "support/catch.hpp"
#include "support/directories.hpp"

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

using namespace tq;

namespace {

// The first groups of all matches of `pattern` in a header, from the text `begin` on, comments left
// out.
std::set<std::string> found_in(const std::string& header, const std::string& pattern,
                               const std::string& begin = "") {
  std::ifstream in(std::string(test::golden_dir) + "/../../include/tq/" + header);
  std::string text, line;
  while (std::getline(in, line)) text += line.substr(0, line.find("//")) + "\n";
  REQUIRE(text.find(begin) != std::string::npos);
  text.erase(0, text.find(begin));
  REQUIRE_FALSE(text.empty());
  const std::regex expression(pattern);
  std::set<std::string> out;
  for (std::sregex_iterator i(text.begin(), text.end(), expression), end; i != end; ++i)
    out.insert((*i)[1]);
  return out;
}
std::set<std::string> names_in(const std::string& header) {
  return found_in(header, R"re(std::string_view name = "(\w+)")re");
}

template <class List>
void has_all(List list, const std::set<std::string>& names,
             const std::set<std::string>& exempt = {}) {
  CHECK_FALSE(names.empty());
  for (const std::string& name : names) {
    INFO(name);
    CHECK(detail::has_name(list, name) != exempt.contains(name));
  }
}

}  // namespace

TEST_CASE("every symmetry, granularity, element and scale type has a place in the run-time lists") {
  has_all(detail::all_symmetries{}, names_in("core/symmetry.hpp"));
  has_all(detail::all_granularities{}, names_in("core/granularity.hpp"));
  has_all(all_elements{}, names_in("core/float_elements.hpp"));
  has_all(all_elements{}, names_in("core/element.hpp"));
  has_all(all_scales{}, names_in("core/scale_kinds.hpp"));
  has_all(all_codebooks{}, found_in("core/codebook.hpp", R"(using (\w+) = Codebook<codebooks::)"));
}

TEST_CASE("every preset of the numerics has a name") {
  // For float16 tensors only, which the run-time layer widens first.
  has_all(detail::all_numerics{},
          found_in("numeric/numerics.hpp", R"(using (\w+) = Numerics<)", "namespace numerics"),
          {"onnx_float16"});
}

TEST_CASE("every width of an integer has a name, but that of biases") {
  for (int bits = 2; bits <= 8; ++bits)
    for (const char* sign : {"int", "uint"})
      CHECK(detail::has_name(all_elements{}, sign + std::to_string(bits)));
  CHECK(detail::has_name(all_elements{}, "int16"));
  CHECK(detail::has_name(all_elements{}, "uint16"));
  CHECK_FALSE(detail::has_name(all_elements{}, "int32"));
}

TEST_CASE("every symmetry is visited for every type that can have it") {
  for (const std::string& type : detail::names_of(all_elements{}))
    for (const std::string& symmetry : detail::names_of(detail::all_symmetries{})) {
      const QuantSpec spec{.type = type, .symmetry = symmetry};
      INFO(to_string(spec));
      std::string seen;
      try {
        seen = visit_type<all_elements>(spec, []<class T, class S>() {
          return std::string(T::name) + " " + std::string(S::name);
        });
      } catch (const error& e) {
        CHECK(e.code() == errc::unsupported);
        continue;
      }
      CHECK(seen == type + " " + symmetry);
    }
}
