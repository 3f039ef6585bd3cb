import type { Caller } from '../callers/access.ts'
import type { Namespace } from '../namespaces/namespace.ts'

/** What a message does while it is active. docs/contract/message-windows.md#effects */
export const windowEffects = ['read_only', 'no_new_credentials'] as const
export type WindowEffect = (typeof windowEffects)[number]

/** An active message with an effect. */
export type ActingWindow = {
  readonly effect: WindowEffect
  /** The id of the namespace whose message it is. */
  readonly namespace: string
  /** Of the message, in printable characters. */
  readonly title: string
  /** In milliseconds since the epoch; undefined: it has no end. */
  readonly endsAt: number | undefined
}

type Source = {
  /**
   * The windows in force in the namespace now: for each effect, at most one window of the namespace and of each above, the one
   * that ends last first. No promise if they are in memory.
   */
  windowsOf(namespace: Namespace): readonly ActingWindow[] | Promise<readonly ActingWindow[]>
  /**
   * What the next response to this caller shall say about the banner it is shown, or undefined. A caller is told once.
   */
  bannerFor(caller: Caller, namespace: Namespace): Promise<string | undefined> | undefined
}

const silence: Source = { windowsOf: () => [], bannerFor: () => undefined }

/** What operators have announced, as far as requests of all kinds have to know. The plugin of the messages tells it. */
export class Announcements {
  #source = silence

  /** From now on, the announcements are those of the source. */
  follow(source: Source): void {
    this.#source = source
  }

  windowsOf(namespace: Namespace): ReturnType<Source['windowsOf']> {
    return this.#source.windowsOf(namespace)
  }

  bannerFor(caller: Caller, namespace: Namespace): ReturnType<Source['bannerFor']> {
    return this.#source.bannerFor(caller, namespace)
  }
}
