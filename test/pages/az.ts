import { readFileSync } from 'node:fs'
import { requestPlainly } from './plain-request.ts'

/**
 * The part of `az` that our pages use: a sign-in with an assertion, at the login service `AZ_LOGIN`. Hands other
 * commands to the administrator at `AZ_URL`, with the files that they name.
 */
const command = process.argv.slice(2)
const after = (flag: string): string => command[command.indexOf(flag) + 1] ?? ''

if (command[0] === 'login') await logIn()
else {
  const words = command.map((word) => (word.startsWith('@') ? readFileSync(word.slice(1), 'utf8') : word))
  const { status, body } = await requestPlainly(new URL(process.env['AZ_URL'] ?? ''), {
    method: 'POST',
    headers: {},
    body: JSON.stringify(words),
  })
  if (status !== 200) throw new Error(String(body))
  process.stdout.write(body)
}

async function logIn(): Promise<void> {
  const form = {
    grant_type: 'client_credentials',
    client_id: after('-u'),
    client_assertion: after('--federated-token'),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    scope: 'https://graph.microsoft.com/.default',
  }
  const answer = await fetch(`${process.env['AZ_LOGIN']}/${after('--tenant')}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  if (!answer.ok) throw new Error(await answer.text())
  console.log('signed in')
}
