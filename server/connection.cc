#include "server/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "protocol/reply_writer.h"
#include "server/log.h"
#include "server/socket_address.h"
#include "server/socket_io.h"
#include "server/worker.h"

namespace iris::server {

namespace {

// Small replies that have to wait are put together up to this size.
constexpr size_t kOutputChunkBytes = 64 * 1024;
// Of what waits, so much is written before others have their turn: some 1 MB.
constexpr int kPiecesInATurn = 16;

// As in Redis: a silent peer is asked after so many seconds, three times in all, and given up after
// twice as many.
void set_tcp_options(int fd, uint32_t keepalive_s) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  if (keepalive_s == 0) return;
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(keepalive_s));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(std::max(keepalive_s / 3, 1U)));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

void Connection::open(Worker& worker, int fd, bool is_unix, uint32_t keepalive_s) {
  auto* connection = new Connection(worker, fd);
  if (!is_unix) set_tcp_options(fd, keepalive_s);
  if (const int error = uv_poll_init(worker.loop(), &connection->poll_, fd); error != 0) {
    log_warning("Cannot take over a connection: {}", uv_strerror(error));
    ::close(fd);
    delete connection;
    worker.not_opened();
    return;
  }
  connection->poll_.data = connection;
  Engine& engine = worker.engine();
  connection->session.record =
      engine.clients.add(fd, static_cast<uint32_t>(worker.member()), peer_address(fd),
                         local_address(fd), engine.clock.wall_ms());
  connection->session.record->set_flag(kClientUnix, is_unix);
  connection->session.record->set_flag(kClientLocal, peer_is_local(fd));
  worker.opened(*connection);
  connection->watch();
}

void Connection::close() {
  if (closing_) return;
  closing_ = true;
  worker_.closed(*this);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { delete static_cast<Connection*>(handle->data); });
  ::close(fd_);  // libuv has let go of it
}

// While nothing is watched, not even the end of the connection is noticed.
void Connection::watch() {
  const int events = (reads_ ? UV_READABLE : 0) | (output_.empty() ? 0 : UV_WRITABLE);
  if (closing_ || events == watched_) return;
  watched_ = events;
  const int error = uv_poll_start(&poll_, events, [](uv_poll_t* poll, int status, int happened) {
    static_cast<Connection*>(poll->data)->on_ready(status, happened);
  });
  if (error != 0) close();
}

void Connection::on_ready(int status, int events) {
  if (status < 0) {
    // The connection is broken, and libuv has stopped to watch it. What came before can be read.
    watched_ = 0;
    reads_ ? read() : close();
    watch();
    return;
  }
  if ((events & UV_WRITABLE) != 0) write_waiting();
  if ((events & UV_READABLE) != 0 && !closing_) read();
}

void Connection::read() {
  const std::span<char> buffer = worker_.read_buffer(*this);
  const int64_t size = receive_now(fd_, buffer);
  if (size > 0) {
    worker_.bytes_read(*this, buffer.data(), static_cast<size_t>(size));
  } else if (size == 0) {
    pause_reading();
    worker_.end_of_input(*this);
  } else if (!means_later(size)) {
    close();
  }
}

void Connection::send(std::string_view bytes) {
  if (closing_ || bytes.empty()) return;
  if (output_.empty()) {
    const int64_t sent = send_now(fd_, bytes);
    if (sent < 0 && !means_later(sent)) {
      close();
      return;
    }
    if (sent > 0) {
      worker_.stats().output_bytes.add(static_cast<uint64_t>(sent));
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  if (bytes.empty()) return;
  queue_output(bytes);
  if (!over_output_limit()) watch();
}

void Connection::queue_output(std::string_view bytes) {
  waiting_bytes_ += bytes.size();
  if (!output_.empty() && !output_.back().booleans &&
      output_.back().bytes.size() + bytes.size() <= kOutputChunkBytes) {
    output_.back().bytes.append(bytes);
  } else {
    output_.push_back({std::string(bytes)});
  }
  note_output();
}

void Connection::send_compactly(CompactReply reply) {
  if (closing_) return;
  const bool is_first = output_.empty();
  waiting_bytes_ += reply.booleans.size();
  output_.push_back({std::move(reply.booleans), true, reply.version});
  note_output();
  if (!reply.error.empty()) queue_output("-" + reply.error + "\r\n");
  if (!over_output_limit() && is_first) write_waiting();
}

bool Connection::over_output_limit() {
  const OutputBufferLimit& limit =
      worker_.engine().config.output_buffer_limit(ClientClass::kNormal);
  if (limit.hard_bytes == 0 || waiting_bytes_ <= limit.hard_bytes) return false;
  log_warning("Client id={} addr={} closed: {} bytes of replies wait, more than its output limit",
              session.record->id, session.record->address, waiting_bytes_);
  worker_.stats().output_limit_disconnections.add();
  close();
  return true;
}

void Connection::check_soft_output_limit(int64_t now_ms) {
  const OutputBufferLimit& limit =
      worker_.engine().config.output_buffer_limit(ClientClass::kNormal);
  if (limit.soft_bytes == 0 || waiting_bytes_ <= limit.soft_bytes) {
    over_soft_limit_since_ms_ = 0;
    return;
  }
  if (over_soft_limit_since_ms_ == 0) over_soft_limit_since_ms_ = now_ms;
  if (now_ms - over_soft_limit_since_ms_ < static_cast<int64_t>(limit.soft_s) * 1000) return;
  log_warning("Client id={} addr={} closed: over its soft output limit for {} s",
              session.record->id, session.record->address, limit.soft_s);
  worker_.stats().output_limit_disconnections.add();
  close();
}

// What to write next of the first chunk.
std::string_view Connection::next_piece() {
  const Chunk& chunk = output_.front();
  const std::string_view rest = std::string_view(chunk.bytes).substr(chunk.sent);
  if (!chunk.booleans) return rest;
  if (rendered_booleans_ == 0) {
    rendered_booleans_ = std::min(rest.size(), kOutputChunkBytes / 4);  // each becomes four bytes
    protocol::ReplyWriter(rendered_, chunk.version).booleans(rest.substr(0, rendered_booleans_));
  }
  return rendered_.view().substr(rendered_sent_);
}

void Connection::piece_written(size_t size) {
  worker_.stats().output_bytes.add(size);
  Chunk& chunk = output_.front();
  size_t done = size;  // in bytes of the chunk
  if (chunk.booleans) {
    rendered_sent_ += size;
    if (rendered_sent_ < rendered_.size()) return;
    done = std::exchange(rendered_booleans_, 0);
    rendered_sent_ = 0;
    rendered_.clear();
  }
  chunk.sent += done;
  waiting_bytes_ -= done;
  if (chunk.sent < chunk.bytes.size()) return;
  output_.pop_front();
  rendered_.release();
}

void Connection::write_waiting() {
  for (int i = 0; i < kPiecesInATurn && !output_.empty(); i++) {
    const std::string_view piece = next_piece();
    const int64_t sent = send_now(fd_, piece);
    if (sent < 0 && !means_later(sent)) {
      close();
      return;
    }
    if (sent > 0) piece_written(static_cast<size_t>(sent));
    if (sent < static_cast<int64_t>(piece.size())) break;
  }
  note_output();
  if (output_.empty() && close_after_output_) {
    close();
  } else {
    watch();
  }
}

void Connection::close_after_output() {
  if (closing_) return;
  if (output_.empty()) {
    close();
    return;
  }
  close_after_output_ = true;
  session.record->set_flag(kClientCloseAfterReply, true);
  pause_reading();
}

void Connection::pause_reading() {
  reads_ = false;
  watch();
}

void Connection::go_on_reading() {
  if (close_after_output_) return;
  reads_ = true;
  watch();
}

void Connection::note_output() {
  session.record->output_bytes.store(waiting_bytes_, std::memory_order_relaxed);
  session.record->output_chunks.store(output_.size(), std::memory_order_relaxed);
}

}  // namespace iris::server
