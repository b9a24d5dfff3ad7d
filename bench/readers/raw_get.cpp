// Measures the rate of an object server: reads whole objects by HTTP/1.1 over persistent connections, and discards them.
//
//     raw_get HOST PORT CONNECTIONS < paths, one a line
//
// Prints a line of JSON: seconds, bytes and number of the objects, CPU seconds of this program. It signs nothing, keeps no
// data and parses only the length, so it is a lower bound for any client.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

std::vector<std::string> paths;
std::atomic<size_t> next{0};
std::atomic<long long> bytes{0};
std::atomic<bool> failed{false};

int connected(const char *host, int port) {
    int const connection = socket(AF_INET, SOCK_STREAM, 0);
    int const yes = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, host, &address.sin_addr);
    if (connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) return -1;
    return connection;
}

// Sends a request and reads the whole answer; false if that is not an object.
bool get(int connection, const std::string &host, const std::string &path, std::vector<char> &buffer) {
    std::string const request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    if (send(connection, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) return false;
    std::string head;
    size_t end = std::string::npos;
    while (end == std::string::npos) {
        ssize_t const got = recv(connection, buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        head.append(buffer.data(), static_cast<size_t>(got));
        end = head.find("\r\n\r\n");
    }
    for (size_t i = 0; i < end; ++i) head[i] = static_cast<char>(std::tolower(head[i]));
    size_t const length = head.find("content-length:");
    if (head.compare(9, 3, "200") != 0 || length == std::string::npos) return false;
    long long left = std::atoll(head.c_str() + length + 15) - static_cast<long long>(head.size() - end - 4);
    bytes += std::atoll(head.c_str() + length + 15);
    while (left > 0) {
        ssize_t const got = recv(connection, buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        left -= got;
    }
    return true;
}

void work(const char *host, int port) {
    int const connection = connected(host, port);
    std::vector<char> buffer(1 << 18);
    std::string const name = std::string(host) + ":" + std::to_string(port);
    for (size_t i = next++; i < paths.size() && !failed; i = next++) {
        if (connection < 0 || !get(connection, name, paths[i], buffer)) failed = true;
    }
    if (connection >= 0) close(connection);
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 4) return 2;
    for (std::string path; std::getline(std::cin, path);) paths.push_back(path);
    auto const begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int i = 0; i < std::atoi(arguments[3]); ++i) threads.emplace_back(work, arguments[1], std::atoi(arguments[2]));
    for (auto &thread : threads) thread.join();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    double const cpu = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    std::printf("{\"seconds\": %.6f, \"bytes\": %lld, \"objects\": %zu, \"cpu\": %.3f}\n", seconds, bytes.load(), paths.size(), cpu);
    return failed ? 1 : 0;
}
