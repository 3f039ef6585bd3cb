import { hash, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Authority } from '../../../support/certificates.ts'
import { startTestServer, type TestServer } from '../../../support/start-server.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { aSigner } from '../signer.ts'

const stack = new AsyncDisposableStack()
const authority = new Authority()
const signer = aSigner('ES256')
const issuer = 'https://ci.example.com'
let server: TestServer

type Identity = { cert?: string; key?: string }

/** The answer to a request with a certificate of the client. */
const answerTo = (
  identity: Identity,
  token: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const headers = { 'x-vault-token': token, ...(text && { 'content-length': text.length }) }
    const options = { ...identity, ca: authority.cert, method: text ? 'POST' : 'GET', headers, agent: false }
    const sent = request(`${server.url}/v1/${path}`, options, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.once('error', reject)
    sent.end(text)
  })

const ask = async (...asked: Parameters<typeof answerTo>) => (await answerTo(...asked)).status

beforeAll(async () => {
  stack.defer(async () => authority[Symbol.dispose]())
  const folder = stack.use(await temporaryFolder())
  const { cert, key } = authority.sign('gate')
  const files = { 'cert.pem': cert, 'key.pem': key, 'ca.pem': authority.cert }
  for (const [name, text] of Object.entries(files)) writeFileSync(folder.file(name), text)
  server = stack.use(
    await startTestServer({
      settings: {
        TLS_CERT_FILE: folder.file('cert.pem'),
        TLS_KEY_FILE: folder.file('key.pem'),
        TLS_CLIENT_CA_FILE: folder.file('ca.pem'),
      },
    }),
  )
  const config = {
    jwt_validation_pubkeys: [signer.pem],
    bound_issuer: issuer,
    accept_as_token: true,
    default_role: 'dev',
  }
  expect(await ask({}, 'root', 'auth/jwt/config', config)).toBe(204)
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  expect(await ask({}, 'root', 'auth/jwt/role/dev', role)).toBe(204)
})
afterAll(() => stack.disposeAsync())

test('a JWT that is bound to a certificate is a token only on connections with that certificate', async () => {
  const own = authority.sign('client')
  const other = authority.sign('other')
  const thumbprint = hash('sha256', new X509Certificate(own.cert).raw, 'base64url')
  const seconds = Math.floor(Date.now() / 1000)
  const jwt = (cnf: object) =>
    signer.sign({ iss: issuer, sub: 'joe', aud: 'gate', iat: seconds, exp: seconds + 60, cnf })
  const look = (identity: Identity, cnf: object) => ask(identity, jwt(cnf), 'auth/token/lookup-self')

  expect(await look(own, { 'x5t#S256': thumbprint })).toBe(200)
  expect(await look(other, { 'x5t#S256': thumbprint })).toBe(403)
  expect(await look({}, { 'x5t#S256': thumbprint })).toBe(403)
  expect(await look(own, { 'x5t#S256': thumbprint, jkt: 'x' })).toBe(403)
  const explain = async (identity: Identity) => {
    const asked = { jwt: jwt({ 'x5t#S256': thumbprint }), as_token: true }
    return JSON.parse((await answerTo(identity, 'root', 'auth/jwt/explain', asked)).text).data.reason
  }
  expect([await explain(own), await explain(other)]).toEqual(['', 'proof_missing'])
})
