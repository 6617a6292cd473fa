/** Another node decides on metadata now, or none that is known: ask there. What was under way may still take effect. */
export class NotControllerError extends Error {
  override name = 'NotControllerError'
  /** Who does, as far as this node knows. */
  readonly leaderId: number | null

  constructor(leaderId: number | null, message = 'this node is not the active controller') {
    super(message)
    this.leaderId = leaderId
  }
}

/** Another process is the voter that this one takes itself for. The message is meant for the operator. */
export class VoterInUseError extends Error {
  override name = 'VoterInUseError'
}

/** The request is to be left unanswered, its connection closed: what the answer was about is gone, or the node stops. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError'
}
