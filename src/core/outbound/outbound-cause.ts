/** Part of each text about a certificate from an untrusted authority. */
export const unknownAuthority = 'certificate signed by unknown authority'

/** Connection failures by error code. For other codes, the error's own message is used. */
const connectionTexts: ReadonlyMap<unknown, string> = new Map([
  ['ECONNREFUSED', 'dial tcp: connect: connection refused'],
  ['ENOTFOUND', 'dial tcp: lookup: no such host'],
  ['EAI_AGAIN', 'dial tcp: lookup: temporary failure in name resolution'],
  ['ETIMEDOUT', 'dial tcp: i/o timeout'],
  ['EHOSTUNREACH', 'dial tcp: connect: no route to host'],
  ['ENETUNREACH', 'dial tcp: connect: network is unreachable'],
  ['ECONNRESET', 'connection reset by peer'],
  ['EPROTO', 'tls: the server does not speak TLS here, or no version of it that is accepted'],
])

const untrusted: ReadonlySet<unknown> = new Set([
  ...[
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_UNTRUSTED',
  ],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'CERT_SIGNATURE_FAILURE', 'INVALID_CA'],
])

/** Whether the peer's certificate is from no authority that is trusted; nothing was sent then. */
export const isUntrusted = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && untrusted.has(error.code)

const notVerified = 'tls: failed to verify certificate: x509: '

/** Why a request failed, in the words of Go's HTTP client. Names no address except that of a certificate. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return causeOf(error.errors[0])
  const code = 'code' in error ? error.code : undefined
  // the rest of the message is advice about Node's command line
  if (isUntrusted(error)) return `${notVerified}${unknownAuthority} (${error.message.split(';', 1)[0]})`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${notVerified}${otherName(error)}`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${notVerified}certificate has expired or is not yet valid`
  // plain HTTP on a TLS port, or the reverse
  if (typeof code === 'string' && code.startsWith('ERR_SSL_'))
    return `${connectionTexts.get('EPROTO')} (${code})`
  if (typeof code === 'string' && code.startsWith('HPE_')) return `malformed HTTP response (${error.message})`
  return connectionTexts.get(code) ?? error.message
}

/** The names in a certificate, and the expected one. */
function otherName(error: Error): string {
  const { host, cert } = error as {
    host?: unknown
    cert?: { subjectaltname?: unknown; subject?: { CN?: unknown } }
  }
  const listed =
    typeof cert?.subjectaltname === 'string'
      ? cert.subjectaltname.replaceAll(/(?:DNS|IP Address|URI):/g, '')
      : ''
  const names = listed === '' ? cert?.subject?.CN : listed
  return `certificate is valid for ${typeof names === 'string' ? names.slice(0, maxNames) : 'no name'}, not ${String(host)}`
}

const maxNames = 512
