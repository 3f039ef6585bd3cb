/** One answer of the server: the status, and the JSON body if there was one. */
export type Answer = { status: number; body: Record<string, unknown> | undefined }

export type Call = { method: string; path: string; token?: string; body?: unknown }

/** Sends one request as curl would, with a path below `/v1/`. */
export async function send(url: string, { method, path, token, body }: Call): Promise<Answer> {
  const response = await fetch(`${url}/v1/${path}`, {
    method,
    headers: token === undefined ? {} : { 'x-vault-token': token },
    signal: AbortSignal.timeout(30_000),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  // every body of this API is a JSON object
  return { status: response.status, body: text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>) }
}

/** As `send`, for steps that must succeed. */
export async function sendSuccessfully(url: string, call: Call): Promise<Answer> {
  const answer = await send(url, call)
  if (answer.status > 299) throw new Error(`${call.method} ${call.path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return answer
}

/** The token of a login's answer. */
export function clientTokenOf({ status, body }: Answer): string {
  const auth = body?.auth
  const token = typeof auth === 'object' && auth !== null && 'client_token' in auth ? auth.client_token : undefined
  if (typeof token !== 'string') throw new Error(`a login answered ${status} without a token: ${JSON.stringify(body)}`)
  return token
}
