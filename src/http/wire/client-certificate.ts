import type { TLSSocket } from 'node:tls'

declare module 'node:net' {
  interface Socket {
    /** In decimal, as in Vault's audit logs; undefined unless the client has a certificate, which was verified. */
    clientCertificateSerialNumber?: string
  }
}

/** Notes the serial number of the client's certificate, if it has one, for the requests of its connection. */
export function noteClientCertificate(socket: TLSSocket): void {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return
  socket.clientCertificateSerialNumber = BigInt(`0x${certificate.serialNumber}`).toString()
}
