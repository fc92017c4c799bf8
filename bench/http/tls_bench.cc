#include "tls_bench.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "load/process.h"
#include "load/sluice_server.h"

namespace sluice::bench {
namespace {

struct Round {
  double per_second = 0;
  double cpu_micros = 0;  ///< Of the server, for each request.
};

// What a program prints. Throws if it fails.
std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("can't run " + command);
  std::string output;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    output += static_cast<char>(c);
  }
  return output;
}

double NumberBefore(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  const auto begin = text.rfind('\n', at) + 1;
  if (at == std::string::npos) throw std::runtime_error("wrk says something else:\n" + text);
  return std::stod(text.substr(begin, at - begin));
}

class TlsBench {
 public:
  explicit TlsBench(const Options& options) : options_(options) {
    wrk_ = FindProgram("wrk");
    if (wrk_.empty()) throw std::runtime_error("wrk is not installed");
    RunOn(PlacesFor(1).load);  // wrk, too.
  }

  void Run() {
    std::printf("HTTP beside HTTPS (TLS 1.3, P-256), 64 connections, one core for the server\n\n");
    std::printf("%-32s %12s %8s %12s %8s %8s %8s\n", "", "http /s", "us CPU", "https /s", "us CPU",
                "rate", "CPU");
    std::string json;
    JsonWriter writer(json, JsonWriter::Style::kIndented);
    writer.BeginObject();
    Compare("connections are kept", "", writer);
    Compare("a connection for each request", " -H 'Connection: close'", writer);
    writer.EndObject();
    if (!options_.json.empty()) std::ofstream(options_.json) << json << "\n";
  }

 private:
  std::vector<std::string> TlsFlags() {
    const std::string key = folder_ / "key.pem";
    const std::string certificate = folder_ / "certificate.pem";
    OutputOf(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=localhost -keyout " +
        key + " -out " + certificate + " 2>&1");
    return {"--http-tls-certificate", certificate, "--http-tls-key", key};
  }

  Round Ask(const Process& server, const std::string& scheme, const std::string& headers) const {
    const auto before = server.Cpu();
    const std::string seconds = options_.quick ? "1" : "2";
    const std::string output = OutputOf(wrk_ + " -t1 -c64 -d" + seconds + headers + " '" + scheme +
                                        "://127.0.0.1:" + std::to_string(server.port()) +
                                        "/api/v1/rate-limit/check?key=user:1' 2>&1");
    const double requests = NumberBefore(output, " requests in ");
    if (requests == 0 || output.find("Non-2xx") != std::string::npos) {
      throw std::runtime_error("requests failed:\n" + output);
    }
    const std::chrono::duration<double, std::micro> cpu = server.Cpu() - before;
    return {.per_second = requests / std::stod(seconds), .cpu_micros = cpu.count() / requests};
  }

  void Compare(const char* what, const std::string& headers, JsonWriter& json) {
    std::vector<double> rates[2];
    std::vector<double> cpus[2];
    for (int round = 0; round < (options_.quick ? 2 : 5); ++round) {
      const Round rounds[2] = {Ask(plain_, "http", headers), Ask(tls_, "https", headers)};
      for (int i = 0; i < 2; ++i) {
        rates[i].push_back(rounds[i].per_second);
        cpus[i].push_back(rounds[i].cpu_micros);
      }
    }
    const double rate[2] = {Median(rates[0]), Median(rates[1])};
    const double cpu[2] = {Median(cpus[0]), Median(cpus[1])};
    std::printf("%-32s %12.0f %8.2f %12.0f %8.2f %7.2fx %7.2fx\n", what, rate[0], cpu[0], rate[1],
                cpu[1], rate[1] / rate[0], cpu[1] / cpu[0]);
    json.Key(what).BeginObject();
    json.Key("http_per_second").Double(rate[0]).Key("http_cpu_micros").Double(cpu[0]);
    json.Key("https_per_second").Double(rate[1]).Key("https_cpu_micros").Double(cpu[1]);
    json.EndObject();
  }

  const Options options_;
  std::string wrk_;
  testing::Folder folder_;
  Process plain_ = StartSluice("--http", 1, folder_);
  Process tls_ = StartSluice("--http-tls", 1, folder_, TlsFlags());
};

}  // namespace

void RunTlsBench(const Options& options) { TlsBench(options).Run(); }

}  // namespace sluice::bench
