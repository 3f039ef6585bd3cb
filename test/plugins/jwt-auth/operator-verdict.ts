import type { Answer, Client } from '../../support/client.ts'
import { serversInTurn } from '../../support/of-one-server.ts'

/**
 * `ok`, or the status with the cause as the operator sees it in `failures`, or with what the caller was told
 * if there is no more.
 */
export async function operatorVerdict(
  root: Client,
  mount: string,
  { status, body }: Answer,
): Promise<string> {
  if (status === 200 && body.warnings === null) return 'ok'
  let cause = ''
  // the server that refused the login knows why
  for (let asked = 0; cause === '' && asked < serversInTurn; asked++) {
    const { data } = (await root.read(`${mount}/failures?request_id=${String(body.request_id)}`)).body
    cause = String(data?.['failures']?.['0']?.['cause'] ?? '')
  }
  return `${status} ${cause === '' ? String(body.errors?.[0] ?? body.warnings?.[0]) : cause}`
}
