import {
  OutboundClient,
  OutboundError,
  type OutboundOptions,
  type OutboundResponse,
} from '../../../core/outbound/outbound.ts'

/**
 * An outbound client that sends nothing while its gate is closed: unverified claims may name any address, and
 * a request would carry a secret worth stealing.
 */
export class GatedClient extends OutboundClient {
  readonly #outbound: OutboundClient
  readonly #isOpen: () => boolean
  #wasRefused = false

  constructor(outbound: OutboundClient, isOpen: () => boolean) {
    super({ deny: ['0.0.0.0/0', '::/0'] })
    this.#outbound = outbound
    this.#isOpen = isOpen
  }

  /** Whether it refused a request. */
  get wasRefused(): boolean {
    return this.#wasRefused
  }

  override get(url: string, options?: OutboundOptions): Promise<OutboundResponse> {
    return this.#isOpen() ? this.#outbound.get(url, options) : this.#refused()
  }

  override post(url: string, body: string, options?: OutboundOptions): Promise<OutboundResponse> {
    return this.#isOpen() ? this.#outbound.post(url, body, options) : this.#refused()
  }

  async #refused(): Promise<never> {
    this.#wasRefused = true
    throw new OutboundError('no request is sent for claims without a valid signature')
  }
}
