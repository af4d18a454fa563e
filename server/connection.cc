#include "server/connection.h"

#include <spdlog/spdlog.h>

#include "server/socket_address.h"
#include "server/worker.h"

namespace iris::server {

namespace {

// Small replies that have to wait are put together up to this size.
constexpr size_t kOutputChunkBytes = 64 * 1024;

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
  connection->stream()->data = connection;
  Engine& engine = worker.engine();
  connection->session.record =
      engine.clients.add(fd, static_cast<uint32_t>(worker.member()), peer_address(fd),
                         local_address(fd), engine.clock.wall_ms());
  connection->session.record->set_flag(kClientUnix, is_unix);
  worker.opened(*connection);
  if (error == 0) {
    error = uv_read_start(connection->stream(), on_allocate, on_read);
  }
  if (error != 0) {
    spdlog::warn("Cannot take over a connection: {}", uv_strerror(error));
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
  *buffer = static_cast<Connection*>(handle->data)->worker_.read_buffer();
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
                                  static_cast<unsigned>(std::min(bytes.size(), size_t{1} << 30)));
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
  if (can_extend && output_.back().size() + bytes.size() <= kOutputChunkBytes) {
    output_.back().append(bytes);
  } else {
    output_.emplace_back(bytes);
  }
  note_output();
}

bool Connection::over_output_limit() {
  const OutputBufferLimit& limit =
      worker_.engine().config.output_buffer_limit(ClientClass::kNormal);
  if (limit.hard_bytes == 0 || waiting_bytes_ <= limit.hard_bytes) return false;
  spdlog::warn("Client id={} addr={} closed: {} bytes of replies wait, more than its output limit",
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
  spdlog::warn("Client id={} addr={} closed: over its soft output limit for {} s",
               session.record->id, session.record->address, limit.soft_s);
  worker_.stats().output_limit_disconnections.add();
  close();
}

void Connection::start_write() {
  write_ = std::make_unique<uv_write_t>();
  write_->data = this;
  std::string& chunk = output_.front();
  uv_buf_t buffer = uv_buf_init(chunk.data(), static_cast<unsigned>(chunk.size()));
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
  const size_t size = output_.front().size();
  worker_.stats().output_bytes.add(size);
  waiting_bytes_ -= size;
  output_.pop_front();
  note_output();
  if (!output_.empty()) {
    start_write();
  } else if (close_after_output_) {
    close();
  }
}

void Connection::close_after_output() {
  if (output_.empty()) {
    close();
    return;
  }
  close_after_output_ = true;
  session.record->set_flag(kClientCloseAfterReply, true);
  uv_read_stop(stream());
}

void Connection::note_output() {
  session.record->output_bytes.store(waiting_bytes_, std::memory_order_relaxed);
  session.record->output_chunks.store(output_.size(), std::memory_order_relaxed);
}

}  // namespace iris::server
