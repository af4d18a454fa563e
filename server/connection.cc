#include "server/connection.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "protocol/reply_writer.h"
#include "server/log.h"
#include "server/socket_address.h"
#include "server/worker.h"

namespace iris::server {

namespace {

// Small replies that have to wait are put together up to this size.
constexpr size_t kOutputChunkBytes = 64 * 1024;
// Handed to the kernel in one go: libuv takes a 32-bit length.
constexpr size_t kOutputPieceBytes = size_t{1} << 30;

}  // namespace

void Connection::open(Worker& worker, int fd, bool is_unix, uint32_t keepalive_s) {
  auto* connection = new Connection(worker);
  int error = 0;
  if (is_unix) {
    uv_pipe_init(worker.loop(), &connection->handle_.pipe, 0);
    error = uv_pipe_open(&connection->handle_.pipe, fd);
  } else {
    uv_tcp_init(worker.loop(), &connection->handle_.tcp);
    error = uv_tcp_open(&connection->handle_.tcp, fd);
    uv_tcp_nodelay(&connection->handle_.tcp, 1);
    if (keepalive_s > 0) uv_tcp_keepalive(&connection->handle_.tcp, 1, keepalive_s);
  }
  const bool opened = error == 0;
  connection->stream()->data = connection;
  Engine& engine = worker.engine();
  connection->session.record =
      engine.clients.add(fd, static_cast<uint32_t>(worker.member()), peer_address(fd),
                         local_address(fd), engine.clock.wall_ms());
  connection->session.record->set_flag(kClientUnix, is_unix);
  connection->session.record->set_flag(kClientLocal, peer_is_local(fd));
  worker.opened(*connection);
  if (error == 0) {
    error = uv_read_start(connection->stream(), on_allocate, on_read);
  }
  if (error != 0) {
    log_warning("Cannot take over a connection: {}", uv_strerror(error));
    if (!opened) ::close(fd);
    connection->close();
  }
}

void Connection::close() {
  if (closing_) return;
  closing_ = true;
  worker_.closed(*this);
  uv_close(reinterpret_cast<uv_handle_t*>(stream()),
           [](uv_handle_t* handle) { delete static_cast<Connection*>(handle->data); });
}

void Connection::on_allocate(uv_handle_t* handle, size_t, uv_buf_t* buffer) {
  auto* connection = static_cast<Connection*>(handle->data);
  *buffer = connection->worker_.read_buffer(*connection);
}

void Connection::on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  auto* connection = static_cast<Connection*>(stream->data);
  if (size > 0) {
    connection->worker_.bytes_read(*connection, buffer->base, static_cast<size_t>(size));
  } else if (size == UV_EOF) {
    connection->worker_.end_of_input(*connection);
  } else if (size < 0) {
    connection->close();
  }
}

void Connection::send(std::string_view bytes) {
  if (closing_ || bytes.empty()) return;
  if (output_.empty()) {
    uv_buf_t buffer = uv_buf_init(const_cast<char*>(bytes.data()),
                                  static_cast<unsigned>(std::min(bytes.size(), kOutputPieceBytes)));
    const int written = uv_try_write(stream(), &buffer, 1);
    if (written < 0 && written != UV_EAGAIN) {
      close();
      return;
    }
    if (written > 0) {
      worker_.stats().output_bytes.add(static_cast<uint64_t>(written));
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  if (bytes.empty()) return;
  queue_output(bytes);
  if (over_output_limit()) return;
  if (write_ == nullptr) start_write();
}

void Connection::queue_output(std::string_view bytes) {
  waiting_bytes_ += bytes.size();
  // The first chunk may be in libuv's hands.
  const bool can_extend = output_.size() > 1 || (output_.size() == 1 && write_ == nullptr);
  if (can_extend && !output_.back().booleans &&
      output_.back().bytes.size() + bytes.size() <= kOutputChunkBytes) {
    output_.back().bytes.append(bytes);
  } else {
    output_.push_back({std::string(bytes)});
  }
  note_output();
}

void Connection::send_compactly(CompactReply reply) {
  if (closing_) return;
  waiting_bytes_ += reply.booleans.size();
  output_.push_back({std::move(reply.booleans), true, reply.version});
  note_output();
  if (!reply.error.empty()) queue_output("-" + reply.error + "\r\n");
  if (over_output_limit()) return;
  if (write_ == nullptr) start_write();
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
  piece_size_ = std::min(rest.size(), kOutputPieceBytes);
  if (!chunk.booleans) return rest.substr(0, piece_size_);
  piece_size_ = std::min(rest.size(), kOutputChunkBytes / 4);  // each becomes four bytes
  rendered_.clear();
  protocol::ReplyWriter(rendered_, chunk.version).booleans(rest.substr(0, piece_size_));
  return rendered_.view();
}

void Connection::start_write() {
  write_ = std::make_unique<uv_write_t>();
  write_->data = this;
  const std::string_view piece = next_piece();
  uv_buf_t buffer =
      uv_buf_init(const_cast<char*>(piece.data()), static_cast<unsigned>(piece.size()));
  const int error = uv_write(write_.get(), stream(), &buffer, 1, [](uv_write_t* write, int status) {
    static_cast<Connection*>(write->data)->on_written(status);
  });
  if (error != 0) {
    write_.reset();
    close();
  }
}

void Connection::on_written(int status) {
  write_.reset();
  if (closing_) return;
  if (status < 0) {
    close();
    return;
  }
  Chunk& chunk = output_.front();
  chunk.sent += piece_size_;
  waiting_bytes_ -= piece_size_;
  worker_.stats().output_bytes.add(chunk.booleans ? rendered_.size() : piece_size_);
  if (chunk.sent == chunk.bytes.size()) {
    output_.pop_front();
    rendered_.release();
  }
  note_output();
  if (!output_.empty()) {
    start_write();
  } else if (close_after_output_) {
    close();
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
  uv_read_stop(stream());
}

void Connection::pause_reading() {
  uv_read_stop(stream());
}

void Connection::go_on_reading() {
  if (!closing_ && !close_after_output_) uv_read_start(stream(), on_allocate, on_read);
}

void Connection::note_output() {
  session.record->output_bytes.store(waiting_bytes_, std::memory_order_relaxed);
  session.record->output_chunks.store(output_.size(), std::memory_order_relaxed);
}

}  // namespace iris::server
