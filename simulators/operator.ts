/** A response: the status, the headers, and the JSON body, if any. */
export type Answer = { status: number; headers: Headers; body: Record<string, unknown> | undefined }

export type Call = {
  method: string
  path: string
  token?: string
  headers?: Record<string, string>
  body?: unknown
}

const timeoutMs = 30_000

/** Sends one request as curl would, with a path below `/v1/`. */
export async function send(url: string, { method, path, token, headers, body }: Call): Promise<Answer> {
  return exchange(`${url}/v1/${path}`, {
    method,
    headers: { ...headers, ...(token !== undefined && { 'x-vault-token': token }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/** Sends one request to any server that responds with JSON. */
export async function exchange(url: string, request: RequestInit): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(timeoutMs), ...request })
  const text = await response.text()
  // every body of this API, and of those it calls, is a JSON object
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>),
  }
}

/** As `send`, but throws for a status above 299. */
export async function sendSuccessfully(url: string, call: Call): Promise<Answer> {
  const answer = await send(url, call)
  if (answer.status > 299)
    throw new Error(`${call.method} ${call.path} returned ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer
}

/** The token in the response to a login. */
export function clientTokenOf(answer: Answer): string {
  return textIn(answer, 'auth', 'client_token')
}

/** The string at the path `names` in the response body. Throws if there is none. */
export function textIn({ status, body }: Answer, ...names: string[]): string {
  let found: unknown = body
  for (const name of names)
    found = typeof found === 'object' && found !== null ? Reflect.get(found, name) : undefined
  if (typeof found !== 'string')
    throw new Error(`an answer ${status} has no ${names.join('.')}: ${JSON.stringify(body)}`)
  return found
}
