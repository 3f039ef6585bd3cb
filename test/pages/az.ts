/**
 * The part of `az` that our pages use: a sign-in with an assertion, at the login service `AZ_LOGIN`. Hands other
 * commands to the test at `AZ_URL`.
 */
const command = process.argv.slice(2)
const after = (flag: string): string => command[command.indexOf(flag) + 1] ?? ''

const answer = await (command[0] === 'login' ? logIn() : fetch(process.env['AZ_URL'] ?? '', sent(command)))
if (!answer.ok) throw new Error(await answer.text())
console.log(command[0] === 'login' ? 'signed in' : await answer.text())

function sent(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body) }
}

function logIn(): Promise<Response> {
  const form = {
    grant_type: 'client_credentials',
    client_id: after('-u'),
    client_assertion: after('--federated-token'),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    scope: 'https://graph.microsoft.com/.default',
  }
  return fetch(`${process.env['AZ_LOGIN']}/${after('--tenant')}/oauth2/v2.0/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
}
