import { Buffer } from 'node:buffer'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Mount } from '../core/mounts/mount.ts'
import { type Namespace, rootNamespace } from '../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../core/namespaces/namespace-store.ts'
import { namesTag } from '../lib/entity-tag.ts'
import type { Random } from '../lib/random.ts'
import { bodyBeside, bodyBytes, smallAnswer } from './answer-writer.ts'
import { type CommonHeaders, requestIdHeader } from './common-headers.ts'
import { envelope, type WrittenReply } from './envelope.ts'
import type { PreparedNodeRead } from './node-resource.ts'

/** A read whose response may be prepared. */
export type PreparedRead = {
  /** Path of its mount and below, without `/v1/`; open, and only responds with 200 or 304. */
  readonly path: string
  /** The route in metrics. */
  readonly label: string
  /**
   * The response for every caller, the same object while it is unchanged; undefined if it is not prepared.
   */
  find(namespace: Namespace): WrittenReply | undefined
}

export type LabelledNodeRead = PreparedNodeRead & {
  /** The route in metrics. */
  readonly label: string
}

export type PreparedAnswersParts = {
  /** The mount of the path in the namespace of this id. */
  resolve(namespaceId: string, path: string): { readonly mount: Pick<Mount, 'type' | 'tainted'> } | undefined
  readonly namespaces: Pick<NamespaceStore, 'resolve' | 'isLive' | 'lockRefusal'>
  clientAddress(request: RequestHead): unknown
  readonly random: Random
  readonly common: CommonHeaders
  isSealed(): boolean
}

/** The part of a request that a prepared response depends on. */
export type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers' | 'socket'>

/** A response that only has to be written. */
export type Prepared = {
  /** In metrics. */
  readonly route: string
  readonly status: 200 | 304
  /** The headers that many responses have in common; names and values alternate. */
  readonly lines: readonly string[]
  /** The headers of this one, in the same form. */
  readonly own: readonly string[]
  readonly body: string | Buffer | undefined
  /** Of the body, with what follows it. */
  readonly bytes: number
  /** What follows the body. */
  readonly rest?: Buffer
}

/** Names and values alternate. */
const linesOf = (headers: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(headers).flat()

export function writePrepared(response: ServerResponse, { status, lines, own, body, rest }: Prepared): void {
  response.cork()
  response.writeHead(status, [...lines, ...own])
  if (rest === undefined) response.end(body)
  else {
    response.write(body)
    response.end(rest)
  }
  response.uncork()
}

/** Requests with one of these headers need more than a prepared response. */
const unusual = [
  'content-length',
  'transfer-encoding',
  'expect',
  'origin',
  'x-vault-wrap-ttl',
  'x-vault-mfa',
] as const

/**
 * The pipeline's cache of serialised responses that are the same for every caller. Serving one costs a
 * fraction of the rest of the pipeline, with the same result. docs/decisions/0006-ready-reads.md
 */
export class PreparedAnswers {
  readonly #parts: PreparedAnswersParts
  readonly #readByUrl: ReadonlyMap<string, PreparedRead>
  readonly #nodeReadByUrl: ReadonlyMap<string, LabelledNodeRead>
  readonly #writtenOf = new WeakMap<WrittenReply, Written>()
  readonly #writtenOfNodeReads = new Map<LabelledNodeRead, WrittenNode>()

  constructor(
    parts: PreparedAnswersParts,
    reads: { readonly ofMounts: readonly PreparedRead[]; readonly ofNode: readonly LabelledNodeRead[] },
  ) {
    this.#parts = parts
    const urls = reads.ofMounts.flatMap((read) =>
      [`/v1/${read.path}`, `/${read.path}`].map((url) => [url, read] as const),
    )
    this.#readByUrl = new Map(urls)
    this.#nodeReadByUrl = new Map(reads.ofNode.flatMap((read) => read.urls.map((url) => [url, read])))
  }

  /** The response to this request; undefined if none is prepared. */
  find(request: RequestHead): Prepared | undefined {
    const { url = '', headers } = request
    const read = this.#readByUrl.get(url)
    const nodeRead = read === undefined ? this.#nodeReadByUrl.get(url) : undefined
    if ((read === undefined && nodeRead === undefined) || request.method !== 'GET') return undefined
    const { isSealed, clientAddress, random } = this.#parts
    if (isSealed() || unusual.some((name) => headers[name] !== undefined)) return undefined
    if (typeof clientAddress(request) !== 'string') return undefined
    if (nodeRead !== undefined) return this.#findOfNode(nodeRead, headers)
    if (read === undefined) return undefined
    const named = headers['x-vault-namespace']
    const place = this.#placeOf(named, read.path)
    const reply = place && read.find(place.namespace)
    if (place === undefined || reply === undefined || reply.dataText.length >= smallAnswer) return undefined
    const answer = this.#written(read.path, reply, place.mountType)
    const id = random.uuid()
    const own =
      typeof named === 'string' && named !== ''
        ? [requestIdHeader, id, 'x-vault-namespace', named]
        : [requestIdHeader, id]
    if (namesTag(headers['if-none-match'], reply.headers.etag))
      return { route: read.label, status: 304, lines: answer.lines, own, body: undefined, bytes: 0 }
    const { linesOfWhole, head, tail } = answer
    const body = bodyBeside(named, head + id)
    const bytes = bodyBytes(body) + tail.length
    return { route: read.label, status: 200, lines: linesOfWhole, own, body, bytes, rest: tail }
  }

  #findOfNode(read: LabelledNodeRead, headers: IncomingHttpHeaders): Prepared | undefined {
    // the rest of the pipeline decides which paths a namespace has
    if (headers['x-vault-namespace'] !== undefined) return undefined
    const body = read.find()
    if (body === undefined) return undefined
    const { lines, bytes } = this.#writtenOfNode(read, body)
    return {
      route: read.label,
      status: 200,
      lines,
      own: [requestIdHeader, this.#parts.random.uuid()],
      body,
      bytes,
    }
  }

  #writtenOfNode(read: LabelledNodeRead, body: string): WrittenNode {
    const common = this.#parts.common.of(200)
    const known = this.#writtenOfNodeReads.get(read)
    if (known?.body === body && known.common === common) return known
    const bytes = Buffer.byteLength(body)
    const own = { 'content-type': 'application/json', 'content-length': String(bytes) }
    const fresh = { body, bytes, common, lines: linesOf({ ...common, ...own }) }
    this.#writtenOfNodeReads.set(read, fresh)
    return fresh
  }

  /** The mount that serves it, if any; the rest of the pipeline refuses requests. */
  #placeOf(
    named: string | string[] | undefined,
    path: string,
  ): { namespace: Namespace; mountType: string } | undefined {
    const { namespaces, resolve } = this.#parts
    const place = Array.isArray(named) ? undefined : namespaces.resolve(named, path)
    if (place === undefined || place.taken > 0) return undefined
    const { namespace } = place
    if (
      namespace.id !== rootNamespace.id &&
      (!namespaces.isLive(namespace.id) || namespaces.lockRefusal(namespace) !== undefined)
    )
      return undefined
    const mount = resolve(namespace.id, path)?.mount
    return mount === undefined || mount.tainted ? undefined : { namespace, mountType: mount.type }
  }

  #written(path: string, reply: WrittenReply, mountType: string): Written {
    const known = this.#writtenOf.get(reply)
    const { common } = this.#parts
    if (known?.mountType === mountType && known.common === common.of(200)) return known
    const fresh = writeOut(path, reply, mountType, common)
    this.#writtenOf.set(reply, fresh)
    return fresh
  }
}

/** A response without its request id, which is inserted between `head` and `tail`. */
type Written = {
  readonly mountType: string
  /** The common headers that it has. */
  readonly common: object
  readonly lines: readonly string[]
  readonly linesOfWhole: readonly string[]
  readonly head: string
  readonly tail: Buffer
}

/** The headers of a node-level response with this body, without its request id. */
type WrittenNode = Pick<Written, 'common' | 'lines'> & { readonly body: string; readonly bytes: number }

const anyId = '00000000-0000-0000-0000-000000000000'

function writeOut(path: string, reply: WrittenReply, mountType: string, common: CommonHeaders): Written {
  const text = envelope({ requestId: anyId, path, namespaceInPath: false, mount: { type: mountType } }, reply)
  const at = text.indexOf(anyId)
  const whole = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }
  return {
    mountType,
    common: common.of(200),
    lines: linesOf({ ...common.of(304), ...reply.headers }),
    linesOfWhole: linesOf({ ...common.of(200), ...reply.headers, ...whole }),
    head: text.slice(0, at),
    tail: Buffer.from(text.slice(at + anyId.length)),
  }
}
