import { sendSuccessfully, textIn } from '../simulators/operator.ts'
import { type BenchCase, type BenchSetup, usualConnections } from './bench-case.ts'

const password = 'correct horse'
/** No more than one address may have waiting: docs/limits.md#passwords. */
const passwordConnections = 8

/** Logins with one `SecretID` of unlimited uses. */
export async function approleCases({ url, rootToken: token }: BenchSetup): Promise<BenchCase[]> {
  const write = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  await write('sys/auth/approle', { type: 'approle' })
  await write('auth/approle/role/bench', { role_id: 'bench', token_ttl: '15m' })
  const secretId = textIn(await write('auth/approle/role/bench/secret-id', {}), 'data', 'secret_id')
  const body = JSON.stringify({ role_id: 'bench', secret_id: secretId })
  return [{ ...loginCase('approle login', usualConnections, '/v1/auth/approle/login', body), aimBeside: 4 }]
}

/** Logins with a password. Each server hashes it in its own way: compare the processor times. */
export async function userpassCases({ url, rootToken: token }: BenchSetup): Promise<BenchCase[]> {
  const write = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  await write('sys/auth/userpass', { type: 'userpass' })
  await write('auth/userpass/users/bob', { password, token_ttl: '15m' })
  const body = JSON.stringify({ password })
  return [
    {
      ...loginCase('userpass login', passwordConnections, '/v1/auth/userpass/login/bob', body),
      aimBeside: 1,
    },
  ]
}

function loginCase(name: string, connections: number, path: string, body: string): BenchCase {
  const requests = { method: 'POST', path, variants: [{ body }] }
  return { name, connections, ours: requests, against: { contender: 'itself', requests } }
}
