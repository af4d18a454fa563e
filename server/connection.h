// One client's connection: its socket, the bytes that have not made a whole request yet, and the
// bytes that the client has not taken yet. It belongs to one worker and is touched by no other
// thread.
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
#include <memory>
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
  explicit Connection(Worker& worker) : worker_(worker) {}
  ~Connection() = default;

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&handle_); }
  // Bytes that wait: as they are, or booleans that take a byte each until they are rendered.
  struct Chunk {
    std::string bytes;
    bool booleans = false;
    protocol::Version version = protocol::Version::kResp2;  // of the booleans
    size_t sent = 0;
  };

  void queue_output(std::string_view bytes);
  void start_write();
  std::string_view next_piece();
  void on_written(int status);
  bool over_output_limit();
  void note_output();

  static void on_allocate(uv_handle_t* handle, size_t suggested, uv_buf_t* buffer);
  static void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer);

  Worker& worker_;
  union {
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  } handle_;
  Input unfinished_input_;
  // Of the first chunk a piece is being written when `write_` is set.
  std::list<Chunk> output_;
  // Booleans of the first chunk that are being written, rendered.
  protocol::ReplyBuffer rendered_;
  size_t piece_size_ = 0;  // in bytes of the chunk
  std::unique_ptr<uv_write_t> write_;
  uint64_t waiting_bytes_ = 0;
  int64_t over_soft_limit_since_ms_ = 0;
  bool closing_ = false;
  bool close_after_output_ = false;
};

}  // namespace iris::server
