// One client's connection: its socket, the bytes that have not made a whole request yet, and the
// bytes that the client has not taken yet. It belongs to one worker and is touched by no other
// thread.
//
// libuv tells when the socket can be read or written; the bytes themselves go straight to the
// kernel and come from there (socket_io.h).
//
// Memory. Bytes are read into the worker's arena and, when they make whole requests, never copied;
// only an unfinished request is kept here until its rest comes. Replies are rendered into the
// worker's buffer; only what the socket does not take is kept here. So an idle connection owns
// neither an input nor an output buffer.
//
// Life. Created by its worker, freed in the close callback of its handle: libuv may still hold the
// handle until then. closing() is true from the first call of close() on.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>

#include <uv.h>

#include "protocol/large_array.h"
#include "protocol/reply_buffer.h"
#include "protocol/request_parser.h"
#include "server/session.h"

namespace iris::server {

class Worker;

class Connection {
 public:
  // Takes over the accepted socket.
  static void open(Worker& worker, int fd, bool is_unix, uint32_t keepalive_s);

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void close();
  bool closing() const { return closing_; }

  // Sends the bytes now as far as the socket takes them, the rest as soon as it does. Closes the
  // connection when more waits than `client-output-buffer-limit` allows.
  void send(std::string_view bytes);
  // The same for a long array of booleans, which is rendered only as the socket takes it.
  void send_compactly(CompactReply reply);
  // When all that waits is sent.
  void close_after_output();
  // A parked connection is not read.
  void pause_reading();
  void go_on_reading();
  uint64_t waiting_output_bytes() const { return waiting_bytes_; }
  // Closes if the soft output limit has been passed for too long.
  void check_soft_output_limit(int64_t now_ms);

  // Bytes of an unfinished request, to which newly read ones are appended.
  using Input = protocol::LargeArray<char>;
  Input& unfinished_input() { return unfinished_input_; }

  Session session;
  protocol::RequestParser parser;

  // The worker's notes on this tick: whether it has something to run, and what is in the arena.
  bool ready = false;
  char* fresh_data = nullptr;
  size_t fresh_size = 0;
  bool at_end_of_input = false;
  // Its replies that wait for the log, counted in ticks; and whether it waits itself, unread.
  uint32_t held_outputs = 0;
  bool parked = false;
  // Whether it is the server that keeps it waiting, for the disk.
  bool kept_waiting() const { return parked || session.waits_for_answer || held_outputs > 0; }
  // When the unfinished request last gained something that counts (see request-timeout).
  int64_t progress_ms = 0;
  uint64_t progress_bytes = 0;

 private:
  Connection(Worker& worker, int fd) : worker_(worker), fd_(fd) {}
  ~Connection() = default;

  // Bytes that wait: as they are, or booleans that take a byte each until they are rendered.
  struct Chunk {
    std::string bytes;
    bool booleans = false;
    protocol::Version version = protocol::Version::kResp2;  // of the booleans
    size_t sent = 0;
  };

  void watch();
  void on_ready(int status, int events);
  void read();
  void queue_output(std::string_view bytes);
  void write_waiting();
  std::string_view next_piece();
  void piece_written(size_t size);
  bool over_output_limit();
  void note_output();

  Worker& worker_;
  const int fd_;
  uv_poll_t poll_;
  int watched_ = 0;  // the events that libuv is asked to tell
  bool reads_ = true;
  Input unfinished_input_;
  std::list<Chunk> output_;
  // Booleans of the first chunk, rendered: how many, and how many bytes of them were sent.
  protocol::ReplyBuffer rendered_;
  size_t rendered_booleans_ = 0;
  size_t rendered_sent_ = 0;
  uint64_t waiting_bytes_ = 0;
  int64_t over_soft_limit_since_ms_ = 0;
  bool closing_ = false;
  bool close_after_output_ = false;
};

}  // namespace iris::server
