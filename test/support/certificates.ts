import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A certificate and its key, in PEM. */
export type Pair = { readonly cert: string; readonly key: string }

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })

/** A self-signed RSA certificate that is valid for two days, as an application signs in with. */
export function selfSigned(): Pair {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-self-signed-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'pem')]
  const made = ['-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=self-signed', '-days', '2']
  openssl('req', '-x509', ...made, '-keyout', key, '-out', cert)
  const pair = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  rmSync(folder, { recursive: true })
  return pair
}

/** An authority, and what it signs. */
export class Authority {
  readonly cert: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-authority-'))

  constructor() {
    const files = ['-keyout', this.#file('ca.key'), '-out', this.#file('ca.pem')]
    openssl('req', '-x509', ...newKey, '-subj', '/CN=authority', '-days', '2', ...files)
    this.cert = readFileSync(this.#file('ca.pem'), 'utf8')
  }

  /** Signs a certificate for 127.0.0.1 and `localhost`; one of negative days has expired. */
  sign(name: string, days = 2): Pair {
    const [key, request, cert, extensions] = [
      this.#file('key'),
      this.#file('csr'),
      this.#file('pem'),
      this.#file('ext'),
    ]
    const authority = ['-CA', this.#file('ca.pem'), '-CAkey', this.#file('ca.key'), '-CAcreateserial']
    writeFileSync(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1')
    openssl('req', ...newKey, '-subj', `/CN=${name}`, '-keyout', key, '-out', request)
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      ...authority,
      '-extfile',
      extensions,
      '-days',
      String(days),
      '-out',
      cert,
    )
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true })
  }

  #file(name: string): string {
    return join(this.#folder, name)
  }
}
