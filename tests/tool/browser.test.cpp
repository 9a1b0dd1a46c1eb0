// SPDX-License-Identifier: MIT
// The pages of tq in a real browser: what they look like there, what a click does, what is printed,
// and that nothing goes wrong on the way. TQ_TEST_CHROMIUM is Chromium, or Chrome.
#include "tool_test.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <numeric>

using namespace tool_test;

namespace {

// Runs at the end of a copy of the page, and leaves what it saw as JSON in an element of its own.
constexpr const char* probe = R"(<script>
{
  const table = document.querySelectorAll('table.sortable')[1];
  const order = () => [...table.tBodies[0].rows].map((row) => row.id);
  const head = (title) => [...table.tHead.rows[0].cells].find((cell) => cell.textContent === title);
  const click = (title) => {
    head(title).querySelector('button').click();
    return {order: order(), sort: head(title).getAttribute('aria-sort'),
            sorted: table.querySelectorAll('[aria-sort]').length};
  };
  const look = (selector, property) => getComputedStyle(document.querySelector(selector))[property];
  const seen = {dark: matchMedia('(prefers-color-scheme: dark)').matches, before: order()};
  seen.names = [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
  seen.clicks = [];
  for (const title of ['SQNR dB', 'SQNR dB', 'bytes after', 'tensor', 'tensor'])
    seen.clicks.push(click(title));
  const boxes = [...document.querySelectorAll('svg')].map((svg) => svg.getBoundingClientRect());
  seen.pictures = boxes.length;
  seen.drawn = boxes.filter((box) => box.width > 50 && box.height > 10).length;
  seen.unnamed = [...document.querySelectorAll('svg')].filter((svg) => svg.getAttribute('role') !== 'img' ||
      !svg.querySelector('title').textContent).length;
  seen.scripts = document.scripts.length;
  seen.images = document.images.length;
  seen.loaded = performance.getEntriesByType('resource').length;
  seen.wide = document.documentElement.scrollWidth - innerWidth;
  seen.paper = look('body', 'backgroundColor');
  seen.words = [look('body', 'color'), look('th button', 'color'), look('svg text', 'fill')];
  seen.shapes = [look('.values .bars', 'fill'), look('.clip', 'stroke'), look('circle.copied', 'stroke')]
      .concat([...document.querySelectorAll('circle[fill]')].map((circle) => getComputedStyle(circle).fill));
  document.querySelector('circle[data-row=t2]').dispatchEvent(new MouseEvent('click', {bubbles: true}));
  seen.target = location.hash;
  const text = JSON.stringify(seen).replace(/[^ -%'-;=?-~]/g,
      (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  document.body.append(Object.assign(document.createElement('pre'), {id: 'probe', textContent: text}));
  console.error('the probe has run');
}
</script>
)";

std::string url_of(const std::string& path) {
  std::string url = "file://";
  for (const char c : path) {
    const bool is_plain =
        std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' || c == '_' || c == '.';
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    url += is_plain ? std::string(1, c) : hex;
  }
  return url;
}

// Opens a page; the results are standard output and the lines of the console.
struct Visit {
  std::string out;
  std::vector<std::string> console;
};
Visit visit(const Folder& folder, const std::string& page, const std::string& options) {
  const char* const browser = std::getenv("TQ_TEST_CHROMIUM");
  REQUIRE(browser != nullptr);
  const std::string out = folder("stdout"), err = folder("stderr");
  const std::string command =
      std::string("timeout 120 '") + browser +
      "' --headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
      "--window-size=1400,1000 --enable-logging=stderr '--user-data-dir=" +
      folder("profile") + "' " + options + " '" + url_of(page) + "' >'" + out + "' 2>'" + err + "'";
  INFO(command);
  CHECK(std::system(command.c_str()) == 0);
  Visit seen{content(out), {}};
  std::ifstream log(err);
  for (std::string line; std::getline(log, line);)
    if (line.find("CONSOLE") != std::string::npos) seen.console.push_back(line);
  return seen;
}

// The findings of the probe on a copy of the page.
Json probed(const Folder& folder, const std::string& page, bool is_dark) {
  const std::string copy = folder("copy.html");
  std::ofstream(copy, std::ios::binary) << content(page) << probe;
  const Visit seen =
      visit(folder, copy, std::string(is_dark ? "--force-dark-mode " : "") + "--dump-dom");
  for (const std::string& line : seen.console) UNSCOPED_INFO(line);
  REQUIRE(seen.console.size() == 1);  // the probe's message, and no other
  CHECK(has(seen.console[0], "the probe has run"));
  const std::string begin = "<pre id=\"probe\">";
  const std::size_t at = seen.out.find(begin);
  REQUIRE(at != std::string::npos);
  return Json::parse(
      seen.out.substr(at + begin.size(), seen.out.find("</pre>", at) - at - begin.size()));
}

// Relative luminance of "rgb(1, 2, 3)". Source: WCAG 2.2.
double luminance(const std::string& color) {
  int rgb[3] = {};
  REQUIRE(std::sscanf(color.c_str(), "rgb(%d, %d, %d)", &rgb[0], &rgb[1], &rgb[2]) == 3);
  const double weights[3] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double x = rgb[i] / 255.0;
    sum += weights[i] * (x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4));
  }
  return sum;
}

double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// The rows by a number of the report; those without one come last, in the order in which they were.
std::vector<std::string> rows_by(const Json& before, const std::vector<double>& keys,
                                 bool is_falling) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (std::isnan(keys[a]) || std::isnan(keys[b]))
      return !std::isnan(keys[a]) && std::isnan(keys[b]);
    return is_falling ? keys[a] > keys[b] : keys[a] < keys[b];
  });
  std::vector<std::string> out;
  for (const std::size_t i : order) out.push_back(before[i]);
  return out;
}

void check_clicks(const Json& seen, const Json& told) {
  std::vector<double> db, bytes;
  for (const Json& t : told["tensors"]) {
    const bool is_quantized = t["quantized"];
    db.push_back(is_quantized ? t["error"]["sqnr_db"].get<double>() : NAN);
    bytes.push_back(t["bytes_after"]);
  }
  const Json& clicks = seen["clicks"];
  CHECK(clicks[0]["order"] == Json(rows_by(seen["before"], db, false)));
  CHECK(clicks[0]["sort"] == "ascending");
  CHECK(clicks[1]["order"] == Json(rows_by(seen["before"], db, true)));
  CHECK(clicks[1]["sort"] == "descending");
  // By bytes all rows have a number; ties stay as the click before left them.
  std::vector<double> sorted;
  for (const Json& id : clicks[2]["order"])
    sorted.push_back(bytes[std::stoul(id.get<std::string>().substr(1))]);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  // Numbers within names count as numbers.
  const auto place = [](const Json& order, const char* id) {
    return std::find(order.begin(), order.end(), id) - order.begin();
  };
  CHECK(place(clicks[3]["order"], "t1") < place(clicks[3]["order"], "t2"));
  CHECK(place(clicks[4]["order"], "t1") > place(clicks[4]["order"], "t2"));
  for (const Json& click : clicks) {
    CHECK(click["order"].size() == told["tensors"].size());
    CHECK(click["sorted"] == 1);
  }
}

}  // namespace

TEST_CASE("the page of report in a browser: drawn, sorted by clicks, dark and light, printed",
          "[.browser]") {
  const Folder folder("browser_report");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    page = folder("r.html");
  const std::string evil = "<img src=x onerror=alert(1)></th><script>console.log('&\"')</script>";
  std::vector<Tensor> tensors;
  for (const char* name : {"a.bias", "layer.2.weight", "layer.10.weight"})
    tensors.push_back(
        tensor(name, {std::string(name) == "a.bias" ? std::vector<std::size_t>{9}
                                                    : std::vector<std::size_t>{9, 64}}));
  for (unsigned i = 3; i < 40; ++i)
    tensors.push_back(
        tensor("m." + std::to_string(i), {i, 32}, i % 2 == 0 ? DType::f32 : DType::f16, i));
  tensors.push_back(tensor(evil, {4, 32}));
  tq::io::write_safetensors(in, tensors);
  succeed({"quantize", in, out, "--type", "int4_g32", "--exclude", "m.7"});
  const Json told = Json::parse(succeed({"report", in, out, "-o", page, "--json"}));
  for (const bool is_dark : {false, true}) {
    INFO(is_dark);
    const Json seen = probed(folder, page, is_dark);
    CHECK(seen["dark"] == is_dark);
    CHECK((luminance(seen["paper"]) < 0.1) == is_dark);
    for (const Json& color : seen["words"]) CHECK(contrast(color, seen["paper"]) >= 7);
    for (const Json& color : seen["shapes"]) CHECK(contrast(color, seen["paper"]) >= 3);
    REQUIRE(seen["names"].size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i)
      CHECK(seen["names"][i] == told["tensors"][i]["name"]);
    CHECK(std::find(seen["names"].begin(), seen["names"].end(), evil) != seen["names"].end());
    check_clicks(seen, told);
    CHECK(seen["pictures"] == tensors.size() + 1);
    CHECK(seen["drawn"] == seen["pictures"]);
    CHECK(seen["unnamed"] == 0);
    CHECK(seen["scripts"] == 3);  // data and script of the page, and the probe
    CHECK(seen["images"] == 0);
    CHECK(seen["loaded"] == 0);
    CHECK(seen["wide"] <= 0);
    CHECK(seen["target"] == "#t2");
  }
  const std::string pdf = folder("r.pdf");
  CHECK(visit(folder, page, "--no-pdf-header-footer '--print-to-pdf=" + pdf + "'").console.empty());
  CHECK(content(pdf).starts_with("%PDF-"));
  CHECK(has(content(pdf).substr(content(pdf).size() - 16), "%%EOF"));
  CHECK(fs::file_size(pdf) > 10000);
}

TEST_CASE("the page of plot in a browser: drawn, and without a complaint", "[.browser]") {
  const Folder folder("browser_plot");
  const std::string in = folder("m.safetensors"), state = folder("s.json"), page = folder("p.html");
  tq::io::write_safetensors(in, std::vector<Tensor>{tensor("w", {40, 64}), tensor("v", {40, 64})});
  succeed({"calibrate", in, "--observer", "histogram", "--state", state});
  succeed({"plot", state, "-o", page});
  const Visit seen = visit(folder, page, "--dump-dom");
  for (const std::string& line : seen.console) UNSCOPED_INFO(line);
  CHECK(seen.console.empty());
  CHECK(has(seen.out, "<section id=\"t1\">"));
  // No script runs there: the browser says so.
  const std::string copy = folder("copy.html");
  std::ofstream(copy, std::ios::binary)
      << content(page) << "<script>document.body.remove()</script>\n";
  const Visit refused = visit(folder, copy, "--dump-dom");
  REQUIRE(refused.console.size() == 1);
  CHECK(has(refused.console[0], "Content Security Policy"));
  CHECK(has(refused.out, "<section id=\"t1\">"));
}

namespace {

// The actions of a person on a page of many tensors, on screens of two widths.
constexpr const char* many_probe = R"(<script>
{
  const rows = () => [...document.querySelector('#tensors').tBodies[0].rows];
  const named = () => rows().map((row) => row.cells[0].textContent);
  const status = () => document.getElementById('status').textContent;
  const seen = {opened: performance.now(), first: named(), view: document.getElementById('view').value};
  const choose = (view) => {
    const list = document.getElementById('view');
    list.value = view;
    list.dispatchEvent(new Event('change'));
  };
  const filter = (words) => {
    const box = document.getElementById('filter');
    box.value = words;
    box.dispatchEvent(new Event('input'));
  };
  rows()[1].querySelector('button').click();
  seen.group = [rows().length, new Set(named().map((name) => name.split('.').slice(3).join('.'))).size, status()];
  document.getElementById('every').click();
  seen.all = [rows().length, status()];
  document.getElementById('more').click();
  seen.more = rows().length;
  filter('layers.77. K_PROJ');
  seen.filtered = [named(), status()];
  filter('no such name');
  seen.none = [rows().length, status()];
  filter('');
  choose('layers');
  seen.layers = [named().slice(0, 2), status()];
  choose('tensors');
  location.hash = 't2500';
  window.dispatchEvent(new HashChangeEvent('hashchange'));
  seen.revealed = [rows().map((row) => row.id), rows()[0].classList.contains('hit')];
  document.getElementById('every').click();
  const kinds = rows().slice(0, 5).map((row) => {
    const range = document.createRange();
    range.selectNodeContents(row.cells[2]);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
  });
  seen.lines = Math.max(...kinds);
  seen.broken = rows().slice(0, 5).some((row) => [...row.cells].slice(3, 9).some((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getClientRects().length > 1;
  }));
  const table = document.querySelector('#tensors');
  seen.outside = table.scrollWidth - table.parentElement.clientWidth;
  seen.wide = document.documentElement.scrollWidth - innerWidth;
  seen.width = innerWidth;
  seen.cards = getComputedStyle(rows()[0]).display;
  seen.roles = [table.getAttribute('role'), rows()[0].getAttribute('role'), rows()[0].cells[1].getAttribute('role')];
  const text = JSON.stringify(seen).replace(/[^ -%'-;=?-~]/g,
      (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
  document.body.append(Object.assign(document.createElement('pre'), {id: 'probe', textContent: text}));
}
</script>
)";

// The findings of that probe, in a frame of a width.
Json seen_in_frame(const Folder& folder, const std::string& page, int width) {
  std::ofstream(folder("copy.html"), std::ios::binary) << content(page) << many_probe;
  std::ofstream(folder("frame.html"))
      << "<!DOCTYPE html><html><body><iframe id=f src=copy.html width=" << width
      << " height=900></iframe><script>addEventListener('load', () => { const p = "
         "document.getElementById('f').contentDocument.getElementById('probe'); "
         "document.body.append(p); });</script></body></html>";
  const Visit visited =
      visit(folder, folder("frame.html"), "--allow-file-access-from-files --dump-dom");
  for (const std::string& line : visited.console) UNSCOPED_INFO(line);
  CHECK(visited.console.empty());
  const std::string begin = "<pre id=\"probe\">";
  const std::size_t at = visited.out.find(begin);
  REQUIRE(at != std::string::npos);
  return Json::parse(
      visited.out.substr(at + begin.size(), visited.out.find("</pre>", at) - at - begin.size()));
}

}  // namespace

TEST_CASE("the page of a report of many tensors: groups, filter, rows on demand, wide and narrow",
          "[.browser]") {
  const Folder folder("browser_many");
  const std::string in = folder("m.safetensors"), out = folder("q.safetensors"),
                    page = folder("r.html");
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < 4000; ++i)
    tensors.push_back(tensor("model.layers." + std::to_string(i / 4) + ".self_attn." +
                                 "qkvo"[i % 4] + std::string("_proj.weight"),
                             {2, 256}, DType::f32, i));
  tq::io::write_safetensors(in, tensors);
  succeed({"quantize", in, out, "--type", "int4", "--group-size", "128", "--quiet"});
  succeed({"report", in, out, "-o", page, "--quiet"});
  for (const int width : {1280, 420}) {
    INFO(width);
    const Json seen = seen_in_frame(folder, page, width);
    CHECK(seen["opened"] < 15000);  // milliseconds
    CHECK(seen["width"] == width);
    CHECK(seen["view"] == "roles");
    CHECK(seen["first"].size() == 4);
    CHECK(seen["group"][1] == 1);
    CHECK(has(seen["group"][2], "1\u202f000 tensors of 4\u202f000, called "));
    CHECK(seen["all"][0] == 100);
    CHECK(has(seen["all"][1], "4\u202f000 tensors; rows of the first 100 are shown"));
    CHECK(seen["more"] == 200);
    CHECK(seen["filtered"][0] == Json{"model.layers.77.self_attn.k_proj.weight"});
    CHECK(has(seen["filtered"][1], "1 tensor of 4\u202f000."));
    CHECK(seen["none"][0] == 0);
    CHECK(has(seen["none"][1], "0 tensors of 4\u202f000."));
    CHECK(seen["layers"][0] == Json{"model.layers.0", "model.layers.1"});
    CHECK(has(seen["layers"][1], "1\u202f000 groups"));
    CHECK(seen["revealed"] == Json{{"t2500"}, true});
    CHECK(seen["lines"] <= 2);
    CHECK(seen["broken"] == false);
    CHECK(seen["outside"] <= 0);
    CHECK(seen["wide"] <= 0);
    CHECK(seen["cards"] == (width < 700 ? "grid" : "table-row"));
    CHECK(seen["roles"] == Json{"table", "row", "cell"});
  }
}
