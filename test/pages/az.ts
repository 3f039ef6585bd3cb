import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { ask } from './ask.ts'
import type { StandIn } from './stand-ins.ts'

/**
 * The part of `az` that our pages use: a sign-in with an assertion, at the login service `AZ_LOGIN`. Hands other
 * commands to the administrator at `AZ_URL`, with the files that they name.
 */
export const az: StandIn = {
  perform: async ({ args, folder, environment }) => {
    if (args[0] === 'login') return signIn(args, environment)
    const words = args.map((word) =>
      word.startsWith('@') ? readFileSync(resolve(folder, word.slice(1)), 'utf8') : word,
    )
    const url = new URL(environment['AZ_URL'] ?? '')
    const { status, body } = await ask(url, { method: 'POST', body: JSON.stringify(words) })
    if (status !== 200) throw new Error(String(body))
    return { output: body }
  },
}

async function signIn(args: readonly string[], environment: Readonly<Record<string, string>>) {
  const after = (flag: string): string => args[args.indexOf(flag) + 1] ?? ''
  const form = {
    grant_type: 'client_credentials',
    client_id: after('-u'),
    client_assertion: after('--federated-token'),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    scope: 'https://graph.microsoft.com/.default',
  }
  const url = new URL(`${environment['AZ_LOGIN']}/${after('--tenant')}/oauth2/v2.0/token`)
  const { status, body } = await ask(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams(form)),
    authority: environment['NODE_EXTRA_CA_CERTS'],
  })
  if (status !== 200) throw new Error(String(body))
  return { output: 'signed in\n' }
}
