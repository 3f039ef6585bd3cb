import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Claims } from './claims.ts'
import { type Provider, providers } from './providers.ts'
import { type Algorithm, algorithms, type RotateOptions } from './signing-keys.ts'
import { type Document, documents, type Trouble } from './trouble.ts'

/** The part of the issuer that the controls use. */
export type ControlledIssuer = {
  signPipeline(provider: Provider, claims: Claims, options: { algorithm: Algorithm }): Promise<string>
  rotate(options: RotateOptions): Promise<void>
  misbehave(trouble: Trouble, document?: Document): void
  behave(): void
}

const bodyLimit = 65_536

/**
 * Controls the issuer by requests: `POST /token` returns a JWT as plain text, `POST /rotate` makes new keys,
 * `POST /trouble` orders a fault (`{}` ends it). Never rejects: an error is the response.
 */
export async function answerControl(
  issuer: ControlledIssuer,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const text = await act(issuer, path, await readObject(request))
    response
      .writeHead(text === undefined ? 404 : 200, { 'content-type': 'text/plain' })
      .end(`${text ?? 'not found'}\n`)
  } catch (error) {
    response
      .writeHead(400, { 'content-type': 'text/plain' })
      .end(`${error instanceof Error ? error.message : 'bad request'}\n`)
  }
}

async function act(
  issuer: ControlledIssuer,
  path: string,
  body: Record<string, unknown>,
): Promise<string | undefined> {
  if (path === '/token') {
    const provider: Provider = oneOf(providers, body.provider ?? 'github', 'provider')
    const algorithm: Algorithm = oneOf(algorithms, body.algorithm ?? 'RS256', 'algorithm')
    return await issuer.signPipeline(provider, givenClaims(body.claims), { algorithm })
  }
  if (path === '/rotate') {
    await issuer.rotate({ keepOld: body.keep_old !== false })
    return 'new keys'
  }
  if (path !== '/trouble') return undefined
  issuer.behave()
  if (body.kind === undefined) return 'behaving'
  const document = body.document === undefined ? undefined : oneOf(documents, body.document, 'document')
  // unchecked, since this is a tool for developers: with an unknown kind, requests get no response
  issuer.misbehave(body as Trouble, document)
  return 'misbehaving'
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown, name: string): T {
  const found = allowed.find((one) => one === value)
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(', ')}`)
  return found
}

function givenClaims(value: unknown): Claims {
  if (value === undefined) return {}
  if (!isObject(value)) throw new Error('claims must be an object')
  return value
}

async function readObject(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > bodyLimit) throw new Error('the body is too long')
  }
  const body: unknown = text.trim() === '' ? {} : JSON.parse(text)
  if (!isObject(body)) throw new Error('the body must be a JSON object')
  return body
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
