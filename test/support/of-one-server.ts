import { test } from 'vitest'

/** How many servers a test reaches at one address, in turn. */
export const serversInTurn = process.env['TEST_REPLICAS'] === '2' ? 2 : 1

/** A test of what each server keeps for itself: with two servers, whose requests alternate, it is skipped. */
export const testOfOneServer = test.skipIf(serversInTurn > 1)
