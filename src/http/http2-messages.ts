import type { IncomingMessage, ServerResponse } from 'node:http'
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

declare module 'node:http' {
  interface IncomingMessage {
    /** The stream of a request of HTTP/2: it ends with the request, unlike the socket. */
    readonly stream?: Duplex
  }
}

/** A request of HTTP/2 whose members mean the same as those of one of HTTP/1.1. */
export class Http2Request extends Http2ServerRequest {
  #socket: Socket | undefined

  arrivedOn(socket: Socket): void {
    this.#socket = socket
    // no client can send this header over HTTP/2; it tells that there is a body, whose length is not known
    if (!this.stream.endAfterHeaders && this.headers['content-length'] === undefined)
      this.headers['transfer-encoding'] = 'chunked'
  }

  /** Whether all of it was read. */
  // @ts-expect-error the type declares a property, but it is an accessor
  override get complete(): boolean {
    return this.stream.endAfterHeaders || this.readableEnded
  }

  /** Also when the request has ended. */
  // @ts-expect-error the type declares a property, but it is an accessor
  override get socket(): Socket {
    if (this.#socket === undefined)
      throw new Error('a request of HTTP/2 has not been attached to its connection')
    return this.#socket
  }
}

export class Http2Response extends Http2ServerResponse<Http2Request> {
  /** False: the connection accepts no requests after this one. */
  shouldKeepAlive = true
}

/** The server uses only members of requests and responses that both versions of HTTP have. */
export const asHttp1 = (
  request: Http2Request,
  response: Http2Response,
): [request: IncomingMessage, response: ServerResponse] => [
  request as unknown as IncomingMessage,
  response as unknown as ServerResponse,
]
